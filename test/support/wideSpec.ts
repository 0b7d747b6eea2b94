/** A layer spec of 24 matrices of 8,192 × 8,192: weights are nearly all of its memory, 6.0 GiB in fp32. */

export const wide = `
dims: { batch: 1 }
inputs: { x: "float32[batch, 8192]" }
blocks:
  part:
    - fc: Linear(8192, 8192, bias=False)
    - act: ReLU()
layers:
  - body: part() * 24
`;
