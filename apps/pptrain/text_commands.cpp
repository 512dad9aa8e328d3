// The options of what turns text into tokens, tokens into text, and checkpoints into folders of
// other libraries.
#include "command_line.hpp"

namespace pptrain {

void CommandLine::tokenize() {
  CLI::App* sub = command(Command::tokenize, "tokenize", "Turn text into a token file");
  sub->add_option("TEXT", options_.texts, "text files, one after another")
      ->required()
      ->type_name("");
  sub->add_option("-o,--output", options_.output, "the token file")
      ->required()
      ->type_name("TOKENS.bin");
  CLI::Option* tokenizer =
      sub->add_option("--tokenizer", options_.tokenizer,
                      "a tokenizer.json of Hugging Face's, or a folder with one")
          ->type_name("TOKENIZER.json");
  CLI::Option* model = sub->add_option("--model", options_.sentencepiece_model,
                                       "a SentencePiece model (default: every byte is a token)")
                           ->excludes(tokenizer)
                           ->type_name("PIECES.model");
  sub->add_option("--train-vocabulary", options_.train_vocabulary,
                  "train a vocabulary of this many tokens; writes it as a SentencePiece model and "
                  "as tokenizer.json")
      ->check(positive_count())
      ->excludes(model)
      ->excludes(tokenizer)
      ->type_name("N");
  documents(sub, tokenizer);
  samples(sub, tokenizer);
  describe(sub,
           "Tokens are the bytes of the text, the pieces of a SentencePiece model, or those of a "
           "tokenizer.json with "
           "byte-pair encoding (GPT-2, Llama, Qwen, Mistral, Gemma), WordPiece (BERT) or unigrams "
           "(T5). Prints the "
           "vocabulary_size to write into [model]; name the file in [data] train.\n\n"
           "With --tokenizer each file is a document, and so is each line of a .jsonl file. Tokens "
           "have 16 bits where "
           "the vocabulary has at most 65536, else 32.\n\n"
           "With --sequence-length the tokens are samples in an HDF5 file: for models of masked "
           "text (BERT), or with "
           "--pairs for encoder-decoders (T5).",
           {{"pptrain tokenize book.txt -o book.bin --train-vocabulary 4096",
             "train a vocabulary and use it"},
            {"pptrain tokenize web.jsonl -o web.bin --tokenizer llama --append-eod",
             "tokenize documents by the tokenizer.json in llama"},
            {"pptrain tokenize web.jsonl -o web.h5 --tokenizer bert --sequence-length 128",
             "make samples for a BERT"}});
}

void CommandLine::samples(CLI::App* sub, CLI::Option* tokenizer) {
  CLI::Option* length =
      sub->add_option("--sequence-length", options_.sequence_length,
                      "write samples of T tokens, of targets with --pairs, into an HDF5 file")
          ->check(positive_count())
          ->needs(tokenizer)
          ->excludes("--megatron")
          ->type_name("T");
  CLI::Option* pairs = sub->add_option("--pairs", options_.pair_keys,
                                       "each line of a .jsonl file has a source and its target "
                                       "below these two keys (a.b: key b inside of a)")
                           ->delimiter(',')
                           ->expected(2)
                           ->needs(length)
                           ->excludes("--json-key")
                           ->type_name("SOURCE,TARGET");
  sub->add_option("--segments", options_.segment_keys,
                  "each line of a .jsonl file is a padded sample: the text below a key, or two "
                  "texts, of token types 0 and 1")
      ->delimiter(',')
      ->expected(1, 2)
      ->needs(length)
      ->excludes(pairs)
      ->excludes("--json-key")
      ->excludes("--append-eod")
      ->excludes("--eod-token")
      ->type_name("KEY[,KEY]");
  sub->add_option("--source-length", options_.source_length,
                  "tokens of a source (default: as many as of a target)")
      ->check(positive_count())
      ->needs(pairs)
      ->type_name("S");
  sub->add_option("--source-prefix", options_.source_prefix,
                  "text in front of every source, such as 'summarize: '")
      ->needs(pairs)
      ->type_name("TEXT");
  sub->add_option("--pad-token", options_.padding_token,
                  "the token that fills up sources and segments (default: pad_token of "
                  "tokenizer_config.json)")
      ->needs(length)
      ->type_name("TOKEN");
}

void CommandLine::documents(CLI::App* sub, CLI::Option* tokenizer) {
  sub->add_flag(
         "--append-eod", options_.append_end_of_document,
         "end each document with the eos_token of the tokenizer_config.json beside the tokenizer")
      ->needs(tokenizer);
  sub->add_option("--eod-token", options_.end_of_document,
                  "end each document with this token instead")
      ->needs(tokenizer)
      ->type_name("TOKEN");
  sub->add_flag("--no-special-tokens", options_.no_special_tokens,
                "leave out what the tokenizer puts around each document, such as <s>")
      ->needs(tokenizer);
  sub->add_option("--json-key", options_.json_key,
                  "key of the text in lines of .jsonl files (default: text)")
      ->needs(tokenizer)
      ->type_name("KEY");
  sub->add_flag("--skip-bad-lines", options_.skip_bad_lines,
                "leave out lines of .jsonl files that are no JSON or have no text below the key, "
                "and count them")
      ->needs(tokenizer);
  sub->add_flag("--megatron", options_.megatron,
                "write a dataset as Megatron-LM reads it: NAME.bin and, beside it, NAME.idx")
      ->needs(tokenizer);
  sub->add_option("--threads", options_.threads,
                  "threads that share the work (default: one per core)")
      ->check(positive_count())
      ->needs(tokenizer)
      ->type_name("N");
}

void CommandLine::generate() {
  CLI::App* sub = command(Command::generate, "generate", "Continue a text with a trained model");
  sub->add_option("MODEL", options_.input,
                  "a checkpoint, a run directory with one, or a folder as export writes it")
      ->required()
      ->type_name("");
  CLI::Option* prompt =
      sub->add_option("--prompt", options_.prompt, "the text to continue")->type_name("TEXT");
  sub->add_option("--prompt-file", options_.prompt_file, "a file with that text")
      ->excludes(prompt)
      ->type_name("FILE");
  sub->add_option("--tokens", options_.tokens, "most tokens to generate (default: 100)")
      ->check(positive_count())
      ->type_name("N");
  sampling(sub);
  sub->add_option("--tokenizer", options_.tokenizer,
                  "the tokenizer.json that made the model's data, or a folder with one (default: "
                  "the one beside the "
                  "model or its data)")
      ->type_name("TOKENIZER.json");
  sub->add_flag("--ignore-eos", options_.ignore_end_of_text,
                "go on after a token that ends a text");
  sub->add_option("--plan", options_.plan,
                  "divide the model as this plan does (default: each layer over all ranks)")
      ->type_name("PLAN.json");
  const std::vector<std::string> precisions = {"fp32", "bf16"};
  choices_[sub->add_option("--precision", options_.precision,
                           "fp32, or bf16: products multiply 16-bit numbers (default: fp32)")
               ->check(CLI::IsMember(precisions))
               ->type_name("TYPE")] = precisions;
  describe(sub,
           "Prints the prompt and the continuation, token by token; with -q only the continuation. "
           "Without --temperature "
           "each token is the likeliest one. The same seed gives the same text. A model of bytes "
           "(vocabulary of 256 or "
           "257) needs no tokenizer.\n\n"
           "Runs on the host, in one process or, under mpirun, in several that share the model.",
           {{"pptrain generate outputs/gpt2/latest --prompt 'You may'",
             "continue by the run's last checkpoint"},
            {"pptrain generate llama --prompt-file story.txt --temperature 0.8 --seed 7",
             "draw tokens by a published model in the folder llama"},
            {"mpirun -np 4 pptrain generate llama --prompt 'You may'",
             "share its layers among four processes"}});
}

void CommandLine::sampling(CLI::App* sub) {
  sub->add_option("--temperature", options_.temperature,
                  "draw tokens at this temperature (default: 0, take the likeliest)")
      ->check(CLI::Range(0.0, 1e6).description(""))
      ->type_name("X");
  sub->add_option("--top-k", options_.top_k,
                  "draw among the K likeliest tokens (default: among all)")
      ->check(positive_count())
      ->type_name("K");
  sub->add_option("--top-p", options_.top_p,
                  "draw among the fewest tokens that have probability P together (default: 1)")
      ->check(CLI::Range(0.0, 1.0).description(""))
      ->type_name("P");
  sub->add_option("--seed", options_.seed, "seed of the random numbers (default: 1234)")
      ->type_name("S");
}

void CommandLine::export_model() {
  CLI::App* sub =
      command(Command::export_model, "export", "Write a checkpoint for Hugging Face's libraries");
  sub->add_option("CHECKPOINT", options_.input, "a checkpoint, or a run directory with one")
      ->required()
      ->type_name("CHECKPOINT.h5|RUN");
  sub->add_option("-o,--output", options_.output, "the folder to write")
      ->required()
      ->type_name("FOLDER");
  const std::vector<std::string> types = {"fp32", "bf16", "fp16"};
  CLI::Option* type =
      sub->add_option("--type", options_.weight_type,
                      "type of the stored weights: fp32, bf16 or fp16 (default: fp32)")
          ->check(CLI::IsMember(types))
          ->type_name("TYPE");
  choices_[type] = types;
  describe(sub,
           "Writes config.json and model.safetensors (in pieces above 5 GB), with the tokenizer "
           "and the generation settings "
           "of the folder that the run started from, or with the tokenizer that pptrain made for "
           "its data. "
           "AutoModelForCausalLM and AutoTokenizer of transformers read the folder, and so does "
           "[model] from.",
           {{"pptrain export outputs/llama/latest -o llama-trained --type bf16",
             "export the last checkpoint"}});
}

}  // namespace pptrain
