/** What the name of a stored tensor says: who gave it, and what kind of tensor PyTorch's modules give it to. */

/** Names that exporters invent for tensors they folded: `onnx::Add_1175`, `/Constant_output_0`, `val_12`, `42`. */
export const isAnonymousTensor = (name: string): boolean => /^(onnx::|\/|_?val_\d+$|\d+$|const)/i.test(name);

/** Whether PyTorch modules register a buffer by this name: statistics, masks, indices, rotary and coordinate tables. */
export const isBufferName = (name: string): boolean =>
  /(^|[./_])(running_mean|running_var|num_batches_tracked|(attn|attention|causal|padding|src|tgt)?_?mask|masked_bias|relative_position_index|relative_coords_table|position_ids|token_type_ids|inv_freq|freqs(_cis)?|(cos|sin)(_?(cached?|table|emb|embed))?|rope(_(cos|sin|cache))?|anchors?|(pixel|image)_(mean|std)|final_logits_bias|c?_?lifted_tensor_\d+)$/i.test(
    name,
  );
