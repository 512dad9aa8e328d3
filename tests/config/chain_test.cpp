// [[model.layer]]: a network that the user writes down.
#include "config/pack.hpp"
#include "config/read.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

const std::string embedding = "[[model.layer]]\nkind = \"embedding\"\ncolumns = 48\n";
const std::string output = "[[model.layer]]\nkind = \"output\"\nnorm = \"rms\"\ntied = true\n";

std::string block(const std::string& keys) { return "[[model.layer]]\nkind = \"block\"\n" + keys; }

Config parse_chain(const std::string& text) { return parse_config(text, "chain.toml", ""); }

std::string complaint_about(const std::string& text) {
  return complaint_of([&] { parse_chain(text); });
}

/// What is said of a chain with this one block, whose keys begin in line 6.
std::string complaint_about_block(const std::string& keys) {
  return complaint_about(embedding + block(keys) + output);
}

TEST_CASE("a chain of layers is read and written", "[chain]") {
  const Config config = parse_chain(
      "[model]\nname = \"mine\"\nvocabulary_size = 99\n" + embedding +
      block("repeat = 3\nheads = 6\nkey_heads = 2\nrotary_theta = 5e3\nrotary_share = 0.5\n") +
      block("heads = 3\nactivation = \"relu\"\ngated = true\nwindow = 7\nparallel = true\n") +
      output);
  for (const Config& read :
       {config, parse_chain(write_config(config)), unpack_config(pack_config(config))}) {
    CHECK((read.model.name == "mine" && read.model.vocabulary_size == 99 &&
           read.model.layer.size() == 4));
    CHECK(read.can_train_model());
    CHECK(!read.model.names_dimensions());
    const auto& first = std::get<BlockConfig>(read.model.layer[1].kind);
    CHECK((first.repeat == 3 && first.heads == 6 && first.num_key_heads() == 2));
    CHECK((first.head_columns(48) == 8 && first.rotated_columns(48) == 4));
    const auto& second = std::get<BlockConfig>(read.model.layer[2].kind);
    CHECK((second.activation == Activation::relu && second.gated && second.window == 7 &&
           second.parallel));
    CHECK((second.num_key_heads() == 3 && second.rotated_columns(48) == 0));
    const auto& last = std::get<OutputConfig>(read.model.layer[3].kind);
    CHECK((last.tied && last.norm.kind == NormKind::rms));
  }
}

TEST_CASE("a chain has the name of its own that it is given, or one for all", "[chain]") {
  CHECK(parse_chain(embedding + block("") + output).model.name == "own-network");
}

TEST_CASE("layers that do not follow one another are refused", "[chain]") {
  CHECK(complaint_about(block("") + block("") + output)
            .starts_with("chain.toml:2: model.layer[0] is of the kind \"block\""));
  CHECK(complaint_about(embedding + block("") + block(""))
            .starts_with("chain.toml:7: model.layer[2] is of the kind"));
  CHECK(complaint_about(embedding + output + output)
            .starts_with("chain.toml:5: model.layer[1] is of the kind \"output\""));
  CHECK(complaint_about(embedding + output)
            .starts_with("chain.toml:1: a chain of 2 [[model.layer]]"));
}

TEST_CASE("experts of a block are read and written, and refused where they do not fit", "[chain]") {
  const std::string experts =
      "gated = true\nexperts = 8\nexperts_per_token = 3\nexpert_capacity = 1.25\nshared_expert = "
      "32\n";
  const Config config = parse_chain(embedding + block("heads = 6\n" + experts) + output);
  for (const Config& read :
       {config, parse_chain(write_config(config)), unpack_config(pack_config(config))}) {
    const ExpertsConfig& experts_read = std::get<BlockConfig>(read.model.layer[1].kind).experts;
    CHECK((experts_read.number == 8 && experts_read.per_token == 3 && experts_read.shared == 32));
    CHECK((experts_read.sum_to_one && experts_read.capacity == 1.25));
  }
  const auto complaint = [](const std::string& keys) {
    return complaint_about_block("heads = 6\n" + keys);
  };
  CHECK(complaint("gated = true\nexperts = 2\nexperts_per_token = 3\n")
            .starts_with("chain.toml:9: experts_per_token = 3 with experts = 2"));
  CHECK(complaint("experts = 4\n") == "nothing was refused");
  CHECK(complaint("repeat = 6\nexperts = 4\nexperts_every = 4\n")
            .starts_with("chain.toml:9: experts_every = 4 of repeat = 6"));
  CHECK(
      complaint("experts_every = 2\n").starts_with("chain.toml:7: experts_every without experts"));
  CHECK(complaint("gated = true\nexperts = 4\nparallel = true\n")
            .starts_with("chain.toml:9: parallel = true with experts"));
  CHECK(complaint("gated = true\nexperts = 4\nfeed_forward_bias = true\n")
            .starts_with("chain.toml:9: feed_forward_bias = true with experts"));
  CHECK(
      complaint("shared_expert = 4\n").starts_with("chain.toml:7: shared_expert without experts"));
}

TEST_CASE("dimensions of a block that do not fit are refused", "[chain]") {
  CHECK(complaint_about_block("heads = 5\n")
            .starts_with("chain.toml:6: heads = 5 does not divide columns = 48"));
  CHECK(complaint_about_block("heads = 5\nhead_size = 10\n") == "nothing was refused");
  CHECK(complaint_about_block("heads = 6\nkey_heads = 4\n")
            .starts_with("chain.toml:7: key_heads = 4 does not divide heads"));
  const std::string odd = "heads = 4\nrotary_theta = 1e4\nrotary_share = 0.25\n";
  CHECK(complaint_about_block(odd).starts_with("chain.toml:8: 3 of 12 columns of a head turn"));
  CHECK(complaint_about_block("rotary_share = 1.5\n")
            .starts_with("chain.toml:6: model.layer.rotary_share = 1.5 is out of"));
  CHECK(complaint_about_block("activation = \"tanh\"\n").find("gelu_tanh") != std::string::npos);
}

const std::string images = "[[model.layer]]\nkind = \"images\"\nimage_size = 20\n";
const std::string classes = "[[model.layer]]\nkind = \"classes\"\nclasses = 7\n";

std::string layer_of(const std::string& kind, const std::string& keys = "") {
  return "[[model.layer]]\nkind = \"" + kind + "\"\n" + keys;
}

TEST_CASE("a chain that reads images is read and written", "[chain]") {
  const Config config = parse_chain(
      images +
      layer_of("convolution",
               "channels = 8\nkernel = 5\npadding = 1\nbatch_norm = true\npool = \"max\"\n") +
      layer_of("residual", "channels = 32\ninner = 4\nstride = 2\nrepeat = 3\n") +
      layer_of("dense", "columns = 40\nactivation = \"silu\"\n") + classes);
  for (const Config& read :
       {config, parse_chain(write_config(config)), unpack_config(pack_config(config))}) {
    const std::vector<LayerConfig>& layers = read.model.layer;
    REQUIRE(layers.size() == 5);
    const auto& read_images = std::get<ImagesConfig>(layers[0].kind);
    CHECK((read_images.image_size == 20 && read_images.channels == 3));
    const auto& convolution = std::get<ConvolutionConfig>(layers[1].kind);
    CHECK((convolution.channels == 8 && convolution.kernel == 5 && convolution.padded_by() == 1));
    CHECK((convolution.batch_norm && convolution.activation == Activation::relu));
    CHECK((convolution.pool.kind == PoolKind::max && convolution.pool.size == 2));
    const auto& residual = std::get<ResidualConfig>(layers[2].kind);
    CHECK((residual.inner == 4 && residual.stride == 2 && residual.repeat == 3 &&
           !residual.pool.kind));
    const auto& dense = std::get<DenseConfig>(layers[3].kind);
    CHECK((dense.columns == 40 && dense.activation == Activation::silu));
    CHECK(std::get<ClassesConfig>(layers[4].kind).classes == 7);
  }
  ConvolutionConfig wide;
  wide.kernel = 7;
  CHECK(wide.padded_by() == 3);
}

TEST_CASE("layers of images that do not follow one another are refused", "[chain]") {
  CHECK(complaint_about(images + layer_of("residual") + classes)
            .starts_with(
                "chain.toml:5: model.layer[1] is of the kind \"residual\", not \"convolution\""));
  CHECK(complaint_about(images + layer_of("convolution") + layer_of("dense") +
                        layer_of("convolution") + classes)
            .starts_with(
                "chain.toml:9: model.layer[3] is of the kind \"convolution\", not \"dense\""));
  CHECK(complaint_about(images + layer_of("convolution") + output).find("not \"classes\"") !=
        std::string::npos);
  CHECK(complaint_about(images + layer_of("convolution") + block("") + classes)
            .find("not \"convolution\"") != std::string::npos);
}

const std::string latent =
    "[[model.layer]]\nkind = \"latent\"\ninputs = 7\nimage_size = 6\ncolumns = 24\n";
const std::string pixels = "[[model.layer]]\nkind = \"pixels\"\n";

TEST_CASE("a chain that draws images is read and written", "[chain]") {
  const Config config = parse_chain(
      latent + "positions = true\n" + layer_of("block", "heads = 2\nwindow = 3\nrepeat = 2\n") +
      layer_of("enlarge", "method = \"shuffle\"\n") + layer_of("block", "heads = 2\n") + pixels);
  for (const Config& read :
       {config, parse_chain(write_config(config)), unpack_config(pack_config(config))}) {
    const std::vector<LayerConfig>& layers = read.model.layer;
    REQUIRE(layers.size() == 5);
    const auto& numbers = std::get<LatentConfig>(layers[0].kind);
    CHECK((numbers.positions && numbers.inputs == 7 && numbers.image_size == 6 &&
           numbers.columns == 24));
    const auto& windows = std::get<BlockConfig>(layers[1].kind);
    CHECK((windows.window == 3 && windows.repeat == 2));
    const auto& enlarge = std::get<EnlargeConfig>(layers[2].kind);
    CHECK((enlarge.method == EnlargeKind::shuffle && !enlarge.positions));
    CHECK(std::get<PixelsConfig>(layers[4].kind).channels == 3);
  }
}

TEST_CASE("layers that draw images and do not fit are refused", "[chain]") {
  const auto complaint = [](const std::string& between) {
    return complaint_about(latent + between + pixels);
  };
  CHECK(complaint(layer_of("convolution"))
            .starts_with("chain.toml:7: model.layer[1] is of the kind \"convolution\""));
  CHECK(complaint(layer_of("block", "heads = 5\n"))
            .starts_with("chain.toml:8: heads = 5 does not divide columns"));
  CHECK(complaint(layer_of("block", "window = 4\n"))
            .starts_with("chain.toml:8: window = 4 does not divide the side"));
  CHECK(complaint(layer_of("enlarge") + layer_of("block", "window = 4\n")) ==
        "nothing was refused");
  CHECK(complaint(layer_of("block", "rotary_theta = 1e4\n"))
            .starts_with("chain.toml:8: rotary_theta in a block"));
  CHECK(complaint(layer_of("block", "experts = 2\n"))
            .starts_with("chain.toml:8: experts in a block that draws"));
  // 24 numbers of a pixel become 6, which 4 does not divide.
  const std::string shuffle = layer_of("enlarge", "method = \"shuffle\"\n");
  CHECK(complaint(shuffle + layer_of("block", "heads = 2\n")) == "nothing was refused");
  CHECK(complaint(shuffle + shuffle).find("\"shuffle\" where pixels have 6 numbers") !=
        std::string::npos);
  CHECK(complaint_about(latent + layer_of("block") + classes).find("not \"pixels\"") !=
        std::string::npos);
  std::string large;
  for (int i = 0; i < 15; ++i) large += layer_of("enlarge");
  CHECK(complaint(large).find("pixels and 24 channels") != std::string::npos);
}

TEST_CASE("a width within a bottleneck that is none is refused", "[chain]") {
  CHECK(complaint_about(images + layer_of("convolution") + layer_of("residual", "wide = 8\n") +
                        classes)
            .starts_with("chain.toml:8: wide = 8 without inner"));
}

TEST_CASE("maps of more numbers than can be counted with weights are refused", "[chain]") {
  const std::string large = "[[model.layer]]\nkind = \"images\"\nimage_size = 16384\n";
  CHECK(complaint_about(large + "channels = 65\n" + layer_of("convolution") + classes)
            .starts_with("chain.toml:3: a map of 16384 x 16384 pixels and 65 channels"));
  CHECK(complaint_about(large + layer_of("convolution", "channels = 65\n") + classes)
            .starts_with("chain.toml:6: a map of 16384 x 16384 pixels and 65 channels"));
  CHECK(complaint_about(large + layer_of("convolution", "channels = 64\n") + classes) ==
        "nothing was refused");
}

TEST_CASE("windows that see nothing of the image are refused", "[chain]") {
  const auto complaint = [](const std::string& keys) {
    return complaint_about(images + layer_of("convolution", keys) + classes);
  };
  CHECK(complaint("kernel = 21\npadding = 0\n")
            .starts_with("chain.toml:6: the convolution has nothing left"));
  CHECK(complaint("kernel = 20\npadding = 0\n") == "nothing was refused");
  CHECK(complaint("kernel = 3\npadding = 3\n")
            .starts_with("chain.toml:7: padding = 3 with kernel = 3"));
  // 20 pixels a side become 18, 16, ..., 2, of which no 3 x 3 is left.
  CHECK(complaint("padding = 0\nrepeat = 9\n") == "nothing was refused");
  CHECK(complaint("padding = 0\nrepeat = 10\n")
            .find("2 x 2 pixels comes to it, and it needs 3 x 3") != std::string::npos);
  CHECK(complaint("stride = 20\npool = \"max\"\n").find("the pooling has nothing left") !=
        std::string::npos);
  CHECK(complaint("pool = \"average\"\npool_padding = 1\n")
            .starts_with("chain.toml:7: pool_padding = 1 of an average"));
}

TEST_CASE("keys of another kind of layer, and dimensions beside a chain, are refused", "[chain]") {
  CHECK(complaint_about_block("tied = true\n")
            .starts_with("chain.toml:6: model.layer.tied is not known"));
  const std::string beside = "[model]\nhidden_size = 48\n" + embedding + block("") + output;
  CHECK(complaint_about(beside).starts_with(
      "chain.toml:2: model.hidden_size stands beside model.layer"));
  CHECK(complaint_about("[model]\nfrom = \"x\"\n" + embedding + block("") + output)
            .starts_with("chain.toml:2: model.from"));
}

}  // namespace
}  // namespace pptrain
