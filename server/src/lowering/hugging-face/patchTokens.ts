/** How images become tokens: the patches that a convolution gives, behind trained tokens that classify. */

/** Lines that begin at the convolution's result; the last is `with_cls`. `trained`: tokens before the patches. */
export const patchTokens = (trained = 1): readonly string[] => [
  'flat: flatten(2)',
  'patches: transpose(1, 2)',
  `cls_token: Parameter(1, ${trained}, hidden_size)`,
  `cls_tokens: expand(cls_token, batch, ${trained}, hidden_size)`,
  'with_cls: cat((cls_tokens, patches), dim=1)',
];
