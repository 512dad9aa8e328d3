#include "config/training_keys.hpp"

#include "config/published_models.hpp"
#include "config/ranges.hpp"

namespace pptrain {
namespace {

const NameTable<BalanceOver> balances = {{BalanceOver::layer, "layer"},
                                         {BalanceOver::model, "model"}};

void visit(KeyVisitor& v, MixPart& part) {
  v.input_paths({"path", "As train: one file or several, one behind the other."}, part.path, "");
  v.number({"weight",
            "Share of the samples that are taken from here, in units of the sum of all weights."},
           part.weight, positive("a source without samples is none"));
}

void visit_documents(KeyVisitor& v, DataConfig& data) {
  v.integer_or_auto({"end_of_document",
                     "The token that ends a document; with \"auto\" documents are what an .idx "
                     "file says. Each file "
                     "begins one in any case."},
                    data.end_of_document, at_least(0));
  v.flag({"attend_across_documents",
          "Whether attention reaches from a document into those before it in the same sample."},
         data.attend_across_documents);
}

/// Visits the keys that say which positions of a text are hidden.
void visit_masks(KeyVisitor& v, DataConfig& data) {
  v.integer_or_auto({"mask_token",
                     "The token that stands where one is hidden, for models of masked text: "
                     "positions of train are hidden "
                     "anew in each epoch then. Train and validation are token files, or an HDF5 "
                     "file of samples without "
                     "labels. With \"auto\" they are HDF5 files of masked text."},
                    data.mask_token, at_least(0));
  v.number({"mask_probability", "Share of the positions that have a label, with mask_token."},
           data.mask_probability,
           {0.0, 1.0, true, true, "some positions are to be predicted, from others"});
  v.integers(
      {"unmasked_tokens", "Tokens that are never hidden, such as those that begin and end a text."},
      data.unmasked_tokens, at_least(0));
}

void visit_augmentation(KeyVisitor& v, DataConfig& data) {
  v.integer({"crop_padding",
             "Pixels by which each image of the training is moved at most, at random, with zeros "
             "where nothing was."},
            data.crop_padding, between(0, 16384));
  v.flag({"flip",
          "Whether half of the images of the training, drawn anew in each epoch, are mirrored."},
         data.flip);
}

}  // namespace

void visit(KeyVisitor& v, DataConfig& data, const ModelConfig& model) {
  const bool reads_images = !model.layer.empty() && model.layer.front().is<ImagesConfig>();
  const bool draws = !model.layer.empty() && model.layer.front().is<LatentConfig>();
  const std::string keyword =
      model.is_classifier() || model.is_described() || reads_images || draws ? synthetic_data : "";
  v.input_paths({"train",
                 "What is trained on: token files, datasets of Megatron-LM (NAME.bin with "
                 "NAME.idx), or, where the vocabulary is "
                 "the bytes (256 or 257), text; for a classifier, for images, for masked text and "
                 "for pairs of texts an HDF5 "
                 "file, or "
                 "\"synthetic\": samples that are made as they are needed."},
                data.train, keyword);
  v.input_paths({"validation", "The same, held back for evaluations."}, data.validation, keyword);
  v.flag({"shuffle",
          "Whether samples come in an order drawn from the seed, each once per epoch; otherwise as "
          "in the files."},
         data.shuffle);
  if (!model.is_classifier()) visit_documents(v, data);
  if (model.is_described()) visit_masks(v, data);
  if (model.is_described() || reads_images) visit_augmentation(v, data);
  data.mix.resize(v.elements({"mix",
                              "Sources that samples are mixed from by their weights, in place of "
                              "train; for transformers."},
                             data.mix.size()));
  for (std::size_t i = 0; i < data.mix.size(); ++i) {
    v.begin_element("mix", i);
    visit(v, data.mix[i]);
    v.end_element();
  }
}

void visit(KeyVisitor& v, TrainingConfig& training, const ModelConfig& model) {
  v.integer({"steps", "Optimizer steps to train for."}, training.steps, at_least(1));
  if (model.published) take_published(*published_model(model.name), training);
  if (!model.is_classifier() && !model.published)
    v.integer(
        {"sequence_length", "Tokens of a sample; of one with a source those that are predicted."},
        training.sequence_length, at_least(1));
  if (!model.from.empty()) {
    v.integer_or_auto(
        {"source_length",
         "Tokens of a source, for models that have an encoder and a decoder; \"auto\": "
         "as sequence_length."},
        training.source_length, at_least(1));
  }
  v.integer({"global_batch_size", "Samples of a step, over all replicas."},
            training.global_batch_size, at_least(1));
  v.integer_or_auto({"micro_batch_size",
                     "Samples that enter the pipeline together; they divide the global batch."},
                    training.micro_batch_size, at_least(1));
  visit_kind(
      v,
      {"precision",
       "What products are computed in; weights and optimizer state are kept in fp32 in any case."},
      training.precision, precision_names());
  v.number_or(
      {"loss_scale",
       "Factor on the loss with fp16; \"dynamic\": as large as gradients stay finite with."},
      training.loss_scale, "dynamic", between(1.0, 16777216.0));
  visit_kind(v, {"gradient_precision", "In what gradients travel from replica to replica."},
             training.gradient_precision, gradient_precision_names());
  v.number({"z_loss",
            "Weight of the squared logarithm of the softmax's sum in the loss of training (1e-4), "
            "which keeps logits "
            "small; 0: none."},
           training.z_loss, not_negative("it keeps logits small"));
  v.number({"dropout",
            "Probability that an element of what a branch of a layer adds to the stream, or of the "
            "stream behind the "
            "first layer, is dropped in training (0.1); 0: none."},
           training.dropout, below_one("something has to be left"));
  v.number({"label_smoothing",
            "Part of each target in the loss of training that all classes share alike (0.1), so "
            "that a model does not "
            "become too sure; 0: none."},
           training.label_smoothing, below_one("the rest is the target's own"));
  v.number({"router_aux_loss",
            "Weight of the balance of experts in the loss of training (0.01), over each "
            "micro-batch, whose size must be "
            "set with it; 0: none."},
           training.router_aux_loss, not_negative("it keeps experts in use"));
  visit_kind(v,
             {"router_aux_loss_over",
              "Over what that balance is computed: each layer for itself, or all layers of the "
              "model together, as "
              "transformers does."},
             training.router_aux_loss_over, balances);
}

void visit(KeyVisitor& v, LrSchedulerConfig& scheduler) {
  visit_kind(v,
             {"name",
              "How the learning rate falls from its largest value to the least one, over the steps "
              "of the job."},
             scheduler.kind, lr_schedule_names());
  v.integer({"warmup_steps", "Steps over which the learning rate rises from 0 first."},
            scheduler.warmup_steps, at_least(0));
  v.number({"minimum", "Where the learning rate ends; constant ignores it."}, scheduler.minimum,
           not_negative());
  v.integer({"decay_steps",
             "wsd: over how many last steps the learning rate falls in a straight line; before it "
             "is constant."},
            scheduler.decay_steps, at_least(0));
  v.integer({"step_interval",
             "step: after every so many steps behind the warm-up the learning rate is lowered."},
            scheduler.step_interval, at_least(0));
  v.number({"step_factor", "step: what it is multiplied by then."}, scheduler.step_factor,
           between(0.0, 1.0));
}

}  // namespace pptrain
