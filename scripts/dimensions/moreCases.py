"""Cases of operators that ONNX has no conformance tests of: ONNX Runtime's own, classical models, operators with seeds."""

import numpy as np
from onnx import helper

random = np.random.default_rng(0)
contrib = "com.microsoft"


def f(*shape):
    return random.standard_normal(shape).astype(np.float32)


def positive(*shape):
    return np.abs(f(*shape)) + 0.1


def u8(*shape):
    return random.integers(0, 200, shape).astype(np.uint8)


def i8(*shape):
    return random.integers(-100, 100, shape).astype(np.int8)


def i32(values):
    return np.array(values, dtype=np.int32)


def i64(values):
    return np.array(values, dtype=np.int64)


scale, zero8, zero_i8 = np.array(0.05, np.float32), np.array(3, np.uint8), np.array(1, np.int8)
ml = "ai.onnx.ml"
linear = {"coefficients": [float(v) for v in f(12)], "intercepts": [0.1, 0.2, 0.3]}
machine = {"coefficients": [0.5, 1.0], "n_supports": 2, "rho": [0.1], "support_vectors": [float(v) for v in f(8)], "kernel_type": "RBF", "kernel_params": [0.5, 0.0, 3.0]}
tree = {
    "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [1, 0, 0], "nodes_values": [0.1, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
}
norms = [f(8), f(8)]

# Type, domain, inputs, attributes, number of outputs.
rows = [
    ("Gelu", contrib, [f(4, 6)], {}, 1),
    ("QuickGelu", contrib, [f(4, 6)], {"alpha": 1.5}, 1),
    ("FastGelu", contrib, [f(2, 4, 6), f(6)], {}, 1),
    ("BiasGelu", contrib, [f(2, 4, 6), f(6)], {}, 1),
    ("FusedMatMul", contrib, [f(2, 4, 6), f(2, 8, 6)], {"transB": 1, "alpha": 0.5}, 1),
    ("FusedMatMul", contrib, [f(4, 2, 6), f(2, 6, 8)], {"transBatchA": 1}, 1),
    ("FusedMatMul", contrib, [f(2, 6, 4), f(6, 8)], {"transA": 1}, 1),
    ("TransposeMatMul", contrib, [f(2, 4, 6), f(2, 8, 6)], {"transB": 1}, 1),
    ("FusedGemm", contrib, [f(4, 6), f(6, 8), f(8)], {"activation": "Relu"}, 1),
    ("FusedConv", contrib, [f(2, 4, 6, 6), f(8, 4, 3, 3), f(8)], {"activation": "Relu"}, 1),
    ("FusedConv", contrib, [f(2, 4, 6, 6), f(8, 4, 3, 3), f(8), f(2, 8, 4, 4)], {"activation": "Relu"}, 1),
    ("CDist", contrib, [f(4, 3), f(6, 3)], {"metric": "euclidean"}, 1),
    ("Inverse", contrib, [f(4, 3, 3)], {}, 1),
    ("MurmurHash3", contrib, [i32([[1, 2], [3, 4]])], {}, 1),
    ("UnfoldTensor", contrib, [f(4, 9)], {"dim": 1, "size": 3, "step": 2}, 1),
    ("ExpandDims", contrib, [f(4, 6), i32(1)], {}, 1),
    ("GatherND", contrib, [f(4, 6, 2), i64([[0, 1], [2, 3]])], {}, 1),
    ("Pad", contrib, [f(4, 6), i64([0, 1, 0, 2])], {}, 1),
    ("Trilu", contrib, [f(4, 6, 6), i64(0)], {}, 1),
    ("Range", contrib, [i32(0), i32(6), i32(1)], {}, 1),
    ("GridSample", contrib, [f(2, 4, 5, 5), np.tanh(f(2, 6, 4, 2))], {}, 1),
    ("CropAndResize", contrib, [f(2, 4, 8, 8), positive(4, 4) / 4, i32([0, 1, 0, 1]), i32([3, 3])], {}, 1),
    ("MaxpoolWithMask", contrib, [f(2, 4, 6, 6), i32(np.ones((2, 4, 6, 6)))], {"kernel_shape": [2, 2]}, 1),
    ("NGramRepeatBlock", contrib, [i64([[1, 2, 1], [3, 4, 3]]), f(2, 6)], {"ngram_size": 2}, 1),
    ("DequantizeLinear", contrib, [u8(4, 6), positive(6), u8(6)], {"axis": 1}, 1),
    ("QuantizeLinear", contrib, [f(4, 6), positive(6), u8(6)], {"axis": 1}, 1),
    ("DynamicQuantizeMatMul", contrib, [f(4, 6), u8(6, 8), scale.reshape(()), zero8], {}, 1),
    ("DynamicQuantizeMatMul", contrib, [f(4, 6), i8(6, 8), positive(8), i8(8)], {}, 1),
    ("MatMulIntegerToFloat", contrib, [u8(4, 6), u8(6, 8), scale, scale, zero8, zero8, f(8)], {}, 1),
    ("MatMulIntegerToFloat", contrib, [u8(4, 6), i8(6, 8), scale, positive(8), zero8, i8(8), f(8)], {}, 1),
    ("QGemm", contrib, [u8(4, 6), scale, zero8, i8(6, 8), scale, zero_i8, None, scale, zero8], {}, 1),
    ("QGemm", contrib, [u8(4, 6), scale, zero8, i8(8, 6), positive(8) / 100, i8(8) * 0, i32(np.arange(8)), scale, zero8], {"transB": 1}, 1),
    ("QLinearAdd", contrib, [u8(4, 6), scale, zero8, u8(6), scale, zero8, scale, zero8], {}, 1),
    ("QLinearMul", contrib, [u8(4, 6), scale, zero8, u8(4, 6), scale, zero8, scale, zero8], {}, 1),
    ("QLinearSigmoid", contrib, [u8(4, 6), scale, zero8, scale, zero8], {}, 1),
    ("QLinearLeakyRelu", contrib, [u8(4, 6), scale, zero8, scale, zero8], {}, 1),
    ("QLinearSoftmax", contrib, [u8(2, 4, 6), scale, zero8, scale, zero8], {"axis": 1, "opset": 13}, 1),
    ("QLinearSoftmax", contrib, [u8(2, 4, 6), scale, zero8, scale, zero8], {"axis": 1, "opset": 11}, 1),
    ("QLinearWhere", contrib, [f(4, 6) > 0, u8(4, 6), scale, zero8, u8(6), scale, zero8, scale, zero8], {}, 1),
    ("QLinearAveragePool", contrib, [u8(2, 4, 6, 6), scale, zero8, scale, zero8], {"kernel_shape": [2, 2]}, 1),
    ("QLinearGlobalAveragePool", contrib, [u8(2, 4, 6, 6), scale, zero8, scale, zero8], {}, 1),
    ("QLinearConcat", contrib, [scale, zero8, u8(4, 6), scale, zero8, u8(4, 6), scale, zero8], {"axis": 1}, 1),
    ("QLinearConcat", contrib, [scale, zero8, u8(4, 2), scale, zero8, u8(4, 6), scale, zero8], {"axis": 1}, 1),
    ("QLinearConv", contrib, [u8(2, 6, 6, 4), scale, zero8, u8(8, 4, 3, 3), scale, zero8, scale, zero8, i32(np.arange(8))], {"channels_last": 1}, 1),
    ("NhwcMaxPool", contrib, [u8(2, 6, 6, 4)], {"kernel_shape": [2, 2]}, 1),
    ("MatMulNBits", contrib, [f(4, 32), u8(8, 2, 8), positive(8, 2)], {"K": 32, "N": 8, "bits": 4, "block_size": 16}, 1),
    ("MatMulNBits", contrib, [f(2, 4, 32), u8(8, 2, 8), positive(16)], {"K": 32, "N": 8, "bits": 4, "block_size": 16}, 1),
    ("SimplifiedLayerNormalization", "", [f(2, 4, 8), f(8)], {"axis": -1}, 1),
    ("SkipLayerNormalization", contrib, [f(2, 4, 8), f(2, 4, 8), *norms], {}, 1),
    ("SkipLayerNormalization", contrib, [f(2, 4, 8), f(4, 8), *norms, f(8)], {}, 1),
    ("SkipSimplifiedLayerNormalization", contrib, [f(2, 4, 8), f(2, 4, 8), f(8)], {}, 1),
    ("EmbedLayerNormalization", contrib, [i32([[1, 2, 3], [4, 5, 6]]), i32([[0, 1, 0], [1, 1, 0]]), f(9, 8), f(5, 8), f(2, 8), *norms], {}, 2),
    ("EmbedLayerNormalization", contrib, [i32([[1, 2, 3], [4, 5, 6]]), i32([[0, 1, 0], [1, 1, 0]]), f(9, 8), f(5, 8), f(2, 8), *norms, i32([[1, 1, 0], [1, 1, 1]])], {}, 2),
    ("Attention", contrib, [f(2, 6, 8), f(8, 24), f(24)], {"num_heads": 4}, 1),
    ("Attention", contrib, [f(2, 6, 8), f(8, 24), f(24), i32([4, 6])], {"num_heads": 2}, 1),
    ("Attention", contrib, [f(2, 6, 8), f(8, 24), f(24), None, f(2, 2, 4, 3, 2)], {"num_heads": 4, "unidirectional": 1}, 2),
    ("Attention", contrib, [f(2, 6, 8), f(8, 24), f(24), None, None, f(2, 4, 6, 6)], {"num_heads": 4}, 1),
    ("QAttention", contrib, [u8(2, 6, 8), i8(8, 24), f(24), scale, scale, None, zero8, zero_i8], {"num_heads": 4}, 1),
    ("MultiHeadAttention", contrib, [f(2, 6, 8), f(2, 5, 8), f(2, 5, 8)], {"num_heads": 4}, 1),
    ("MultiHeadAttention", contrib, [f(2, 6, 8), f(2, 5, 8), f(2, 5, 12)], {"num_heads": 4}, 1),
    ("MultiHeadAttention", contrib, [f(2, 6, 8), f(2, 5, 8), f(2, 5, 8), f(24)], {"num_heads": 4}, 1),
    ("MultiHeadAttention", contrib, [f(2, 6, 8), f(2, 5, 8), f(2, 5, 8), None, i32([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]), f(2, 4, 6, 5)], {"num_heads": 4}, 1),
    ("MultiHeadAttention", contrib, [f(2, 6, 8), f(2, 5, 8), f(2, 5, 8), None, None, f(1, 1, 6, 7), f(2, 4, 2, 2), f(2, 4, 2, 2)], {"num_heads": 4}, 3),
    ("MultiHeadAttention", contrib, [f(2, 6, 8), f(2, 4, 5, 2), f(2, 4, 5, 2)], {"num_heads": 4}, 1),
    ("GroupQueryAttention", contrib, [f(2, 3, 32), f(2, 3, 16), f(2, 3, 16), None, None, i32([2, 2]), i32(3)], {"num_heads": 4, "kv_num_heads": 2}, 3),
    ("GroupQueryAttention", contrib, [f(2, 3, 64), None, None, None, None, i32([2, 2]), i32(3)], {"num_heads": 4, "kv_num_heads": 2}, 3),
    ("GroupQueryAttention", contrib, [f(2, 1, 32), f(2, 1, 16), f(2, 1, 16), f(2, 2, 4, 8), f(2, 2, 4, 8), i32([4, 4]), i32(5)], {"num_heads": 4, "kv_num_heads": 2}, 3),
    ("RotaryEmbedding", contrib, [f(2, 4, 16), i64([[0, 1, 2, 3], [1, 2, 3, 4]]), f(9, 4), f(9, 4)], {"num_heads": 2}, 1),
    ("RotaryEmbedding", contrib, [f(2, 4, 16), i64([2]), f(9, 4), f(9, 4)], {}, 1),
    ("MoE", contrib, [f(6, 8), f(6, 4), f(4, 16, 8), f(4, 16), f(4, 8, 16), f(4, 8)], {"k": 2, "activation_type": "gelu"}, 1),
    ("MoE", contrib, [f(2, 6, 8), f(12, 4), f(4, 16, 8), f(4, 16), f(4, 8, 16), f(4, 8)], {"k": 2, "activation_type": "gelu"}, 1),
    ("LinearAttention", contrib, [f(2, 6, 8), f(2, 6, 8), f(2, 6, 8), f(2, 4, 2, 2)], {"q_num_heads": 4, "kv_num_heads": 4, "update_rule": "linear"}, 2),
    ("CausalConvWithState", contrib, [f(2, 4, 6), f(4, 1, 3), f(4), f(2, 4, 2)], {}, 2),
    ("Affine", "", [f(4, 6)], {"alpha": 2.0, "beta": 1.0}, 1),
    ("ImageScaler", "", [f(2, 4, 3, 3)], {"scale": 2.0, "bias": [0.1, 0.2, 0.3, 0.4]}, 1),
    ("ParametricSoftplus", "", [f(4, 6)], {"alpha": 2.0, "beta": 1.0}, 1),
    ("ScaledTanh", "", [f(4, 6)], {"alpha": 2.0, "beta": 1.0}, 1),
    ("Crop", "", [f(2, 4, 6, 6)], {"border": [1, 1, 1, 1]}, 1),
    ("GlobalLpPool", "", [f(2, 4, 3, 3)], {}, 1),
    ("MaxRoiPool", "", [f(2, 4, 8, 8), np.array([[0, 0, 0, 4, 4], [1, 1, 1, 6, 6], [0, 2, 2, 5, 5]], np.float32)], {"pooled_shape": [2, 2]}, 1),
    ("Multinomial", "", [f(4, 6)], {"sample_size": 3}, 1),
    ("RandomNormal", "", [], {"shape": [4, 6]}, 1),
    ("RandomUniform", "", [], {"shape": [4, 6]}, 1),
    ("RandomNormalLike", "", [f(4, 6)], {}, 1),
    ("RandomUniformLike", "", [f(4, 6)], {}, 1),
    ("Cast", "", [f(4, 6)], {"to": 7}, 1),
    ("CastLike", "", [f(4, 6), i64([1])], {}, 1),
    ("CategoryMapper", ml, [i64([[0, 1], [1, 0]])], {"cats_int64s": [0, 1], "cats_strings": ["a", "b"]}, 1),
    ("OneHotEncoder", ml, [i64([[0, 1], [1, 0], [1, 1]])], {"cats_int64s": [0, 1, 2]}, 1),
    ("Imputer", ml, [f(4, 3)], {"imputed_value_floats": [0.1, 0.2, 0.3], "replaced_value_float": 0.0}, 1),
    ("Normalizer", ml, [f(4, 3)], {"norm": "L2"}, 1),
    ("Scaler", ml, [f(4, 3)], {"offset": [0.1, 0.2, 0.3], "scale": [1.0, 2.0, 3.0]}, 1),
    ("FeatureVectorizer", ml, [f(4, 3), f(4, 2)], {"inputdimensions": [3, 2]}, 1),
    ("LinearClassifier", ml, [f(6, 4)], {**linear, "classlabels_ints": [0, 1, 2], "post_transform": "SOFTMAX"}, 2),
    ("LinearRegressor", ml, [f(6, 4)], {**linear, "targets": 3}, 1),
    ("SVMRegressor", ml, [f(6, 4)], machine, 1),
    ("SVMClassifier", ml, [f(6, 4)], {"classlabels_ints": [0, 1], "coefficients": [0.5, -0.5], "vectors_per_class": [1, 1], "rho": [0.1], "support_vectors": [float(v) for v in f(8)], "kernel_type": "LINEAR", "kernel_params": [0.5, 0.0, 3.0]}, 2),
    ("TreeEnsembleRegressor", ml, [f(6, 4)], {**tree, "target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0], "target_weights": [0.5, 1.5], "n_targets": 1}, 1),
    ("TreeEnsembleClassifier", ml, [f(6, 4)], {**tree, "class_treeids": [0, 0], "class_nodeids": [1, 2], "class_ids": [0, 1], "class_weights": [0.5, 1.5], "classlabels_int64s": [0, 1]}, 2),
    # Forms that the conformance tests leave out: groups, transposes, merged dimensions, blocks.
    ("Conv", "", [f(2, 8, 5, 5), f(12, 2, 3, 3), f(12)], {"group": 4}, 1),
    ("ConvTranspose", "", [f(2, 8, 5, 5), f(8, 3, 3, 3), f(12)], {"group": 4}, 1),
    ("ConvInteger", "", [u8(2, 4, 5, 5), u8(8, 4, 3, 3), np.array(2, np.uint8)], {}, 1),
    ("Gemm", "", [f(6, 4), f(8, 6), f(4, 8)], {"transA": 1, "transB": 1}, 1),
    ("Reshape", "", [f(4, 6, 8), i64([4, 6, 2, 4])], {}, 1),
    ("Reshape", "", [f(4, 6, 2, 4), i64([24, 8])], {}, 1),
    ("Reshape", "", [f(4, 6, 8), i64([-1, 4, 4])], {}, 1),
    ("Reshape", "", [f(12, 10), i64([6, 20])], {}, 1),
    ("Reshape", "", [f(4, 6, 8), i64([0, 0, 2, -1])], {}, 1),
    ("Concat", "", [f(2, 4, 6), f(2, 4, 6), f(2, 4, 6)], {"axis": 1}, 1),
    ("Tile", "", [f(4, 6), i64([1, 3])], {}, 1),
    ("Expand", "", [f(4, 1, 6), i64([2, 4, 3, 6])], {}, 1),
    ("Expand", "", [f(4, 1, 6), i64([4, 8, 1])], {}, 1),
    ("MatMul", "", [f(2, 4, 3, 6), f(4, 6, 8)], {}, 1),
    ("LSTM", "", [f(5, 4, 3), f(1, 8, 3), f(1, 8, 2), f(1, 16), i32([5, 3, 4, 2]), f(1, 4, 2), f(1, 4, 2)], {"hidden_size": 2}, 3),
    ("GRU", "", [f(5, 4, 3), f(2, 6, 3), f(2, 6, 2), f(2, 12)], {"hidden_size": 2, "direction": "bidirectional"}, 2),
    ("Softmax", "", [f(2, 4, 6)], {"axis": 1}, 1),
    ("LRN", "", [positive(4, 6, 3, 3)], {"size": 3}, 1),
    ("Einsum", "", [f(2, 4, 6), f(6, 8)], {"equation": "...ij,jk->...ik"}, 1),
]
opsets = {"Affine": 1, "ImageScaler": 1, "ParametricSoftplus": 1, "ScaledTanh": 1, "Crop": 1, "TreeEnsembleRegressor": 3, "TreeEnsembleClassifier": 3}


def more_cases(case_of):
    for number, (kind, domain, inputs, attributes, outputs) in enumerate(rows):
        names = [f"x{index}" if array is not None else "" for index, array in enumerate(inputs)]
        node = helper.make_node(kind, names, [f"y{index}" for index in range(outputs)], domain=domain, **attributes)
        default = opsets.get(kind, 21) if domain == "" else 21
        versions = [("", default), (contrib, 1), (ml, opsets.get(kind, 3))]
        yield case_of(f"{kind}_{number}", node, inputs, versions, 10, runtime="onnxruntime")
