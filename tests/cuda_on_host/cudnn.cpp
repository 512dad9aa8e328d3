#include "cudnn.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/half.hpp"
#include "stand_in.hpp"

using cuda_on_host::fault;

struct StandInDnn {
  cudaStream_t stream = nullptr;
};

namespace {

using pptrain::BFloat16;
using pptrain::Half;
using Four = std::array<std::int64_t, 4>;
using Name = cudnnBackendAttributeName_t;
using Type = cudnnBackendAttributeType_t;
using Kind = cudnnBackendDescriptorType_t;

std::string last_error;
bool has_engines = true;
std::uint64_t graphs_done = 0;
constexpr std::size_t plan_workspace = 1024;

struct Attribute {
  Type type;
  std::int64_t count;
  std::vector<unsigned char> bytes;
};

struct Graph;
struct Descriptor {
  Kind kind;
  bool is_final = false;
  std::map<Name, Attribute> attributes;
  std::shared_ptr<const Graph> graph;  // of graphs and what is made from them

  template <class T>
  T get(Name name, std::size_t i = 0) const {
    T value{};
    std::memcpy(&value, attributes.at(name).bytes.data() + i * sizeof(T), sizeof(T));
    return value;
  }
  const Descriptor& part(Name name, std::size_t i = 0) const {
    return *get<const Descriptor*>(name, i);
  }
  bool has(Name name) const { return attributes.count(name) != 0; }
};

struct Tensor {
  std::int64_t number = 0;
  cudnnDataType_t type{};
  Four sizes{}, strides{};
  bool is_virtual = false, is_value = false;

  explicit Tensor(const Descriptor& d)
      : number(d.get<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID)),
        type(d.get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE)),
        is_virtual(d.get<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL)),
        is_value(d.get<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE)) {
    for (std::size_t i = 0; i < 4; ++i) {
      sizes[i] = d.get<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS, i);
      strides[i] = d.get<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES, i);
    }
  }
  std::size_t count() const {
    return static_cast<std::size_t>(sizes[0] * sizes[1] * sizes[2] * sizes[3]);
  }
  std::size_t place(const Four& at) const {
    std::int64_t place = 0;
    for (std::size_t i = 0; i < 4; ++i) place += at[i] * strides[i];
    return static_cast<std::size_t>(place);
  }
  std::size_t bytes() const {
    return (place({sizes[0] - 1, sizes[1] - 1, sizes[2] - 1, sizes[3] - 1}) + 1) *
           (type == CUDNN_DATA_FLOAT ? 4 : 2);
  }
  /// The element that broadcasting gives for a place in a larger tensor.
  std::size_t index(const Four& at) const {
    std::int64_t index = 0;
    for (std::size_t i = 0; i < 4; ++i) index = index * sizes[i] + (sizes[i] == 1 ? 0 : at[i]);
    return static_cast<std::size_t>(index);
  }
  template <class F>
  void for_each(const F& f) const {
    for (std::int64_t a = 0; a < sizes[0]; ++a) {
      for (std::int64_t b = 0; b < sizes[1]; ++b) {
        for (std::int64_t c = 0; c < sizes[2]; ++c) {
          for (std::int64_t d = 0; d < sizes[3]; ++d) f(Four{a, b, c, d});
        }
      }
    }
  }
};

struct Operation {
  Kind kind;
  int mode = 0;
  std::int64_t axis = -1;
  Tensor y;
  std::vector<Tensor> inputs;
};

struct Graph {
  std::vector<Operation> operations;
};

/// What an operation asks for: attributes by name, and which of them may be missing.
struct Rule {
  Name name;
  Type type;
  bool is_optional = false;
};

std::vector<Rule> rules_of(Kind kind) {
  const Type part = CUDNN_TYPE_BACKEND_DESCRIPTOR, number = CUDNN_TYPE_INT64,
             data_type = CUDNN_TYPE_DATA_TYPE;
  switch (kind) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return {{CUDNN_ATTR_TENSOR_UNIQUE_ID, number},
              {CUDNN_ATTR_TENSOR_DATA_TYPE, data_type},
              {CUDNN_ATTR_TENSOR_DIMENSIONS, number},
              {CUDNN_ATTR_TENSOR_STRIDES, number},
              {CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, number},
              {CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN},
              {CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN}};
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
      return {{CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE},
              {CUDNN_ATTR_POINTWISE_MATH_PREC, data_type},
              {CUDNN_ATTR_POINTWISE_AXIS, number, true}};
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return {{CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, part},
              {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, part},
              {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, part},
              {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, part, true},
              {CUDNN_ATTR_OPERATION_POINTWISE_TDESC, part, true},
              {CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_TYPE_FLOAT, true},
              {CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT, true}};
    case CUDNN_BACKEND_REDUCTION_DESCRIPTOR:
      return {{CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE},
              {CUDNN_ATTR_REDUCTION_COMP_TYPE, data_type}};
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return {{CUDNN_ATTR_OPERATION_REDUCTION_DESC, part},
              {CUDNN_ATTR_OPERATION_REDUCTION_XDESC, part},
              {CUDNN_ATTR_OPERATION_REDUCTION_YDESC, part}};
    case CUDNN_BACKEND_MATMUL_DESCRIPTOR: return {{CUDNN_ATTR_MATMUL_COMP_TYPE, data_type}};
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return {{CUDNN_ATTR_OPERATION_MATMUL_DESC, part},
              {CUDNN_ATTR_OPERATION_MATMUL_ADESC, part},
              {CUDNN_ATTR_OPERATION_MATMUL_BDESC, part},
              {CUDNN_ATTR_OPERATION_MATMUL_CDESC, part}};
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
      return {{CUDNN_ATTR_OPERATION_RESHAPE_XDESC, part},
              {CUDNN_ATTR_OPERATION_RESHAPE_YDESC, part}};
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return {{CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE},
              {CUDNN_ATTR_OPERATIONGRAPH_OPS, part}};
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      return {{CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, part},
              {CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE}};
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR: return {};
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return {{CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE},
              {CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, part}};
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return {{CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64},
              {CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR},
              {CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR}};
  }
  return {};
}

std::size_t size_of(Type type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN: return 1;
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR: return 8;
    default: return 4;
  }
}

cudnnStatus_t refuse(cudnnStatus_t status, const std::string& why) {
  last_error = why;
  return status;
}

Operation operation_of(const Descriptor& d) {
  switch (d.kind) {
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: {
      const Descriptor& what = d.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
      Operation operation{d.kind,
                          what.get<int>(CUDNN_ATTR_POINTWISE_MODE),
                          -1,
                          Tensor(d.part(CUDNN_ATTR_OPERATION_POINTWISE_YDESC)),
                          {}};
      if (what.has(CUDNN_ATTR_POINTWISE_AXIS))
        operation.axis = what.get<std::int64_t>(CUDNN_ATTR_POINTWISE_AXIS);
      for (const Name input :
           {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
            CUDNN_ATTR_OPERATION_POINTWISE_TDESC}) {
        if (d.has(input)) operation.inputs.emplace_back(d.part(input));
      }
      return operation;
    }
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return {d.kind,
              d.part(CUDNN_ATTR_OPERATION_REDUCTION_DESC).get<int>(CUDNN_ATTR_REDUCTION_OPERATOR),
              -1,
              Tensor(d.part(CUDNN_ATTR_OPERATION_REDUCTION_YDESC)),
              {Tensor(d.part(CUDNN_ATTR_OPERATION_REDUCTION_XDESC))}};
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return {d.kind,
              0,
              -1,
              Tensor(d.part(CUDNN_ATTR_OPERATION_MATMUL_CDESC)),
              {Tensor(d.part(CUDNN_ATTR_OPERATION_MATMUL_ADESC)),
               Tensor(d.part(CUDNN_ATTR_OPERATION_MATMUL_BDESC))}};
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
      return {d.kind,
              0,
              -1,
              Tensor(d.part(CUDNN_ATTR_OPERATION_RESHAPE_YDESC)),
              {Tensor(d.part(CUDNN_ATTR_OPERATION_RESHAPE_XDESC))}};
    default: fault("cudnn: a graph of something that is no operation");
  }
}

/// Inputs that nobody writes are real; what is virtual is written before it is read; products have
/// narrow operands.
cudnnStatus_t check_graph(const Graph& graph) {
  std::map<std::int64_t, bool> written;
  for (const Operation& operation : graph.operations) {
    for (const Tensor& input : operation.inputs) {
      if (input.is_virtual && written.count(input.number) == 0) {
        return refuse(CUDNN_STATUS_BAD_PARAM, "a virtual tensor is read before it is written");
      }
    }
    if (operation.kind == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) {
      const Tensor &a = operation.inputs[0], &b = operation.inputs[1], &c = operation.y;
      if (a.sizes[0] != c.sizes[0] || b.sizes[0] != c.sizes[0] || a.sizes[1] != c.sizes[1] ||
          c.sizes[1] % b.sizes[1] != 0) {
        return refuse(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "a product of other samples or heads");
      }
      if (a.sizes[2] != c.sizes[2] || b.sizes[3] != c.sizes[3] || a.sizes[3] != b.sizes[2]) {
        return refuse(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "the sizes of a product do not fit");
      }
    }
    if (written[operation.y.number])
      return refuse(CUDNN_STATUS_BAD_PARAM, "a tensor is written twice");
    written[operation.y.number] = true;
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t has_engine(const Graph& graph) {
  if (!has_engines) return refuse(CUDNN_STATUS_NOT_SUPPORTED, "no engine");
  for (const Operation& operation : graph.operations) {
    if (operation.kind != CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) continue;
    for (const Tensor& input : operation.inputs) {
      if (!input.is_virtual && input.type == CUDNN_DATA_FLOAT) {
        return refuse(CUDNN_STATUS_NOT_SUPPORTED, "attention in fp32");
      }
    }
  }
  return CUDNN_STATUS_SUCCESS;
}

float load(cudnnDataType_t type, const void* data, std::size_t i) {
  if (type == CUDNN_DATA_FLOAT) return static_cast<const float*>(data)[i];
  if (type == CUDNN_DATA_HALF) return static_cast<const Half*>(data)[i];
  return static_cast<const BFloat16*>(data)[i];
}

void save(cudnnDataType_t type, void* data, std::size_t i, float value) {
  if (type == CUDNN_DATA_FLOAT) {
    static_cast<float*>(data)[i] = value;
  } else if (type == CUDNN_DATA_HALF) {
    static_cast<Half*>(data)[i] = Half(value);
  } else {
    static_cast<BFloat16*>(data)[i] = BFloat16(value);
  }
}

float rounded(cudnnDataType_t type, float value) {
  if (type == CUDNN_DATA_HALF) return Half(value);
  return type == CUDNN_DATA_BFLOAT16 ? static_cast<float>(BFloat16(value)) : value;
}

/// The values of all tensors while a graph is done.
class Values {
 public:
  Values(const std::map<std::int64_t, void*>& pointers,
         const std::map<std::int64_t, float>& scalars)
      : pointers_(pointers), scalars_(scalars) {}

  const std::vector<float>& of(const Tensor& t) {
    auto found = values_.find(t.number);
    if (found != values_.end()) return found->second;
    std::vector<float>& values = values_[t.number];
    values.resize(t.count());
    if (t.is_value) {
      values[0] = scalars_.at(t.number);
    } else {
      const void* data = pointers_.at(t.number);
      t.for_each([&](const Four& at) { values[t.index(at)] = load(t.type, data, t.place(at)); });
    }
    return values;
  }
  void put(const Tensor& t, std::vector<float> values) {
    for (float& value : values) value = rounded(t.type, value);
    if (!t.is_virtual) {
      void* data = pointers_.at(t.number);
      t.for_each([&](const Four& at) { save(t.type, data, t.place(at), values[t.index(at)]); });
    }
    values_[t.number] = std::move(values);
  }

 private:
  const std::map<std::int64_t, void*>& pointers_;
  const std::map<std::int64_t, float>& scalars_;
  std::map<std::int64_t, std::vector<float>> values_;
};

float pointwise(int mode, float x, float b, float t) {
  switch (mode) {
    case CUDNN_POINTWISE_ADD: return x + b;
    case CUDNN_POINTWISE_SUB: return x - b;
    case CUDNN_POINTWISE_MUL: return x * b;
    case CUDNN_POINTWISE_DIV: return x / b;
    case CUDNN_POINTWISE_EXP: return std::exp(x);
    case CUDNN_POINTWISE_LOG: return std::log(x);
    case CUDNN_POINTWISE_IDENTITY: return x;
    case CUDNN_POINTWISE_CMP_GT: return x > b ? 1.0f : 0.0f;
    case CUDNN_POINTWISE_CMP_GE: return x >= b ? 1.0f : 0.0f;
    case CUDNN_POINTWISE_BINARY_SELECT: return t != 0.0f ? x : b;
    default: fault("cudnn: an unknown pointwise operation");
  }
}

void run(const Operation& o, Values& values) {
  const Tensor& y = o.y;
  std::vector<float> result(y.count());
  if (o.kind == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
    y.for_each([&](const Four& at) {
      const auto input = [&](std::size_t i) {
        return i < o.inputs.size() ? values.of(o.inputs[i])[o.inputs[i].index(at)] : 0.0f;
      };
      result[y.index(at)] = o.mode == CUDNN_POINTWISE_GEN_INDEX
                                ? static_cast<float>(at[static_cast<std::size_t>(o.axis)])
                                : pointwise(o.mode, input(0), input(1), input(2));
    });
  } else if (o.kind == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR) {
    const bool is_sum = o.mode == CUDNN_REDUCE_TENSOR_ADD;
    std::fill(result.begin(), result.end(), is_sum ? 0.0f : -INFINITY);
    o.inputs[0].for_each([&](const Four& at) {
      const float value = values.of(o.inputs[0])[o.inputs[0].index(at)];
      float& to = result[y.index({at[0], at[1] * y.sizes[1] / o.inputs[0].sizes[1], at[2], at[3]})];
      to = is_sum ? to + value : std::max(to, value);
    });
  } else if (o.kind == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) {
    const Tensor &a = o.inputs[0], &b = o.inputs[1];
    y.for_each([&](const Four& at) {
      double sum = 0;
      for (std::int64_t k = 0; k < a.sizes[3]; ++k) {
        sum += static_cast<double>(values.of(a)[a.index({at[0], at[1], at[2], k})]) *
               static_cast<double>(
                   values.of(b)[b.index({at[0], at[1] * b.sizes[1] / y.sizes[1], k, at[3]})]);
      }
      result[y.index(at)] = static_cast<float>(sum);
    });
  } else {
    const Tensor& x = o.inputs[0];
    if (x.sizes[2] != y.sizes[3] || x.strides[2] != y.strides[3] || x.strides[3] != y.strides[2]) {
      fault("cudnn: a reshape that is no transposition");
    }
    y.for_each([&](const Four& at) {
      result[y.index(at)] = values.of(x)[x.index({at[0], at[1], at[3], at[2]})];
    });
  }
  values.put(y, std::move(result));
}

Descriptor& as_descriptor(cudnnBackendDescriptor_t descriptor) {
  return *static_cast<Descriptor*>(descriptor);
}

cudnnStatus_t finalize_graph(Descriptor& d) {
  auto graph = std::make_shared<Graph>();
  for (std::int64_t i = 0; i < d.attributes.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).count; ++i) {
    graph->operations.push_back(
        operation_of(d.part(CUDNN_ATTR_OPERATIONGRAPH_OPS, static_cast<std::size_t>(i))));
  }
  d.graph = graph;
  return check_graph(*graph);
}

}  // namespace

void cuda_on_host::set_has_engines(bool has) { has_engines = has; }
std::uint64_t cuda_on_host::num_graphs() { return graphs_done; }

const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED"
                                              : "CUDNN_STATUS_BAD_PARAM";
}
void cudnnGetLastErrorString(char* message, std::size_t size) {
  const std::size_t length = std::min(size - 1, last_error.size());
  std::memcpy(message, last_error.data(), length);
  message[length] = '\0';
}
std::size_t cudnnGetVersion() { return 91900; }

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = new StandInDnn;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t kind,
                                           cudnnBackendDescriptor_t* descriptor) {
  *descriptor = new Descriptor{kind, false, {}, nullptr};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete &as_descriptor(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t count,
                                       const void* values) {
  Descriptor& d = as_descriptor(descriptor);
  if (d.is_final) return refuse(CUDNN_STATUS_BAD_PARAM, "an attribute of a finalized descriptor");
  const std::vector<Rule> rules = rules_of(d.kind);
  const auto rule =
      std::find_if(rules.begin(), rules.end(), [&](const Rule& r) { return r.name == name; });
  if (rule == rules.end())
    return refuse(CUDNN_STATUS_BAD_PARAM, "an attribute of another descriptor");
  if (rule->type != type)
    return refuse(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "an attribute of another type");
  const auto* bytes = static_cast<const unsigned char*>(values);
  Attribute attribute{
      type, count, {bytes, bytes + static_cast<std::size_t>(count) * size_of(type)}};
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    for (std::int64_t i = 0; i < count; ++i) {
      const Descriptor* part = nullptr;
      std::memcpy(&part, bytes + static_cast<std::size_t>(i) * sizeof(part), sizeof(part));
      if (!part->is_final)
        return refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a part that is not finalized");
    }
  }
  d.attributes[name] = std::move(attribute);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  Descriptor& d = as_descriptor(descriptor);
  for (const Rule& rule : rules_of(d.kind)) {
    if (!rule.is_optional && !d.has(rule.name)) {
      return refuse(CUDNN_STATUS_BAD_PARAM,
                    "attribute " + std::to_string(rule.name) + " is missing");
    }
  }
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  switch (d.kind) {
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR: status = finalize_graph(d); break;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      d.graph = d.part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH).graph;
      status = has_engine(*d.graph);
      break;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      d.graph = d.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).graph;
      break;
    default: break;
  }
  d.is_final = status == CUDNN_STATUS_SUCCESS;
  return status;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t /*type*/, std::int64_t requested,
                                       std::int64_t* count, void* values) {
  const Descriptor& d = as_descriptor(descriptor);
  if (!d.is_final)
    return refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "an attribute of what is not finalized");
  *count = 1;
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS && requested >= 1) {
    Descriptor& engine = *static_cast<Descriptor**>(values)[0];
    engine.graph = d.graph;
    engine.is_final = true;
    return CUDNN_STATUS_SUCCESS;
  }
  if (name != CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)
    return refuse(CUDNN_STATUS_BAD_PARAM, "an unknown attribute");
  const std::int64_t bytes = plan_workspace;
  std::memcpy(values, &bytes, sizeof(bytes));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  const Descriptor &p = as_descriptor(plan), &v = as_descriptor(pack);
  if (!p.is_final || !v.is_final)
    return refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "what runs is not finalized");
  std::map<std::int64_t, void*> pointers;
  for (std::int64_t i = 0; i < v.attributes.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    pointers[v.get<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, at)] =
        v.get<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, at);
  }
  std::map<std::int64_t, float> scalars;
  const auto take = [&](const Tensor& t) {
    if (t.is_virtual) return;
    if (pointers.count(t.number) == 0) fault("cudnnBackendExecute: a tensor has no memory");
    void* data = pointers[t.number];
    if (t.is_value) {
      scalars[t.number] = *static_cast<const float*>(data);
    } else if (reinterpret_cast<std::uintptr_t>(data) % 16 != 0 ||
               !cuda_on_host::is_device_memory(data, t.bytes())) {
      fault("cudnnBackendExecute: a tensor is not aligned or not within a block of device memory");
    }
  };
  for (const Operation& operation : p.graph->operations) {
    for (const Tensor& input : operation.inputs) take(input);
    take(operation.y);
  }
  void* workspace = v.get<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  if (!cuda_on_host::is_device_memory(workspace, plan_workspace))
    fault("cudnnBackendExecute: no such workspace");
  ++graphs_done;
  cuda_on_host::enqueue_library_call(handle->stream,
                                     [graph = p.graph, pointers, scalars, workspace] {
                                       std::memset(workspace, 0xff, plan_workspace);
                                       Values values(pointers, scalars);
                                       for (const Operation& operation : graph->operations)
                                         run(operation, values);
                                     });
  return CUDNN_STATUS_SUCCESS;
}
