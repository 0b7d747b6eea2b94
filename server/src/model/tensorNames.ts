/** What the name of a stored tensor says: who gave it, and what kind of tensor PyTorch's modules give it to. */

/** `layer.norm` of `layer.norm.weight`; '' of what has no module. */
export const moduleOfName = (name: string): string => name.slice(0, Math.max(0, name.lastIndexOf('.')));

/** `weight` of `layer.norm.weight`. */
export const lastOfName = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

/** Names that exporters invent for tensors they folded: `onnx::Add_1175`, `/Constant_output_0`, `val_12`, `42`, `const_fold_opt__7`. */
export const isAnonymousTensor = (name: string): boolean =>
  /^(onnx::|\/|_?val_\d+$|\d+$|const.*(\d|__))/i.test(name);

/** Whether PyTorch modules register a buffer by this name: statistics, masks, indices, rotary and coordinate tables. */
export const isBufferName = (name: string): boolean =>
  /(^|[./_])(running_mean|running_var|num_batches_tracked|(attn|attention|causal|padding|src|tgt)?_?mask|masked_bias|relative_position_index|relative_coords_table|position_ids|token_type_ids|inv_freq|freqs(_cis)?|(cos|sin)(_?(cached?|table|emb|embed))?|rope(_(cos|sin|cache))?|anchors?|(pixel|image)_(mean|std)|final_logits_bias|c?_?lifted_tensor_\d+)$/i.test(
    name,
  );

/** Whether PyTorch's exporter gave the name to the result of an operator that takes elements out of a tensor. */
export const isLookUpName = (name: string): boolean =>
  /^_?(chunk|embedding|gather|getitem|index|index_select|narrow|select|slice|split|unbind)(_\d+)*$/.test(
    name,
  );

/** Whether PyTorch's exporter gave the name to the result of an operator that computes new numbers from a tensor. */
export const isArithmeticName = (name: string): boolean =>
  /^_?(abs|add|addmm|baddbmm|bmm|clamp|clamp_max|clamp_min|cumsum|div|einsum|elu|erf|exp|expm1|gelu|hardtanh|linalg_norm|linalg_vector_norm|linear|log|log1p|log2|log_softmax|matmul|mean|mm|mul|native_batch_norm|native_batch_norm_legit|native_group_norm|native_layer_norm|layer_norm|batch_norm|neg|norm|outer|pow|prod|reciprocal|relu|rsqrt|rsub|sigmoid|silu|softmax|softplus|sqrt|square|std|sub|sum|tanh|var|var_mean|weight_norm|weight_norm_interface)(_\d+)*$/.test(
    name,
  );

/** Whether PyTorch's exporter gave the name to the result of a product of matrices or a convolution. */
export const isProductName = (name: string): boolean =>
  /^_?(addmm|baddbmm|bmm|conv1d|conv2d|conv3d|convolution|einsum|linear|matmul|mm)(_\d+)*$/.test(name);

/** Whether PyTorch's exporter gave the name to the result of an operator that shows the same numbers in another way. */
export const isViewName = (name: string): boolean =>
  /^_?(alias|as_strided|chunk|detach|diagonal|expand|getitem|narrow|permute|reshape|select|slice|split|split_with_sizes|squeeze|t|transpose|unbind|unfold|unsafe_view|unsqueeze|view)(_\d+)*$/.test(
    name,
  );
