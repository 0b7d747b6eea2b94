/**
 * What `layercost calibrate` runs where no model was benchmarked: layers of the kinds that take most of a training step, in
 * sizes whose times tell FLOPs, bytes and launches apart. It is no network that anyone trains.
 */

import type { Precision, ScenarioRequest } from '../../model/scenario.ts';
import type { DeviceKind } from '../deviceChoice.ts';

/** Name of the file that it is kept in, so that results can be opened again and a person can read what ran. */
export const calibrationFile = 'kernels.layers.yaml';

export interface CalibrationRun {
  readonly request: ScenarioRequest;
  /** Seconds to aim at, without the start of Python. */
  readonly budgetSeconds: number;
}

/** Half precision is what GPUs train in; a processor has none. */
const usualPrecision = (kind: DeviceKind): Precision => (kind === 'cpu' ? 'fp32' : 'bf16');

/** A processor takes seconds for what a GPU takes milliseconds for; both see each layer small and large. */
const sizes = {
  cpu: { batches: [1, 8], dimensions: { image: 112, seq: 128, width: 512, vocab: 8_000 } },
  gpu: { batches: [2, 16], dimensions: { image: 224, seq: 1_024, width: 2_048, vocab: 32_000 } },
} as const;

/** The runs of `seconds` in all: most of the time goes to the large one, whose layers take longer. */
export function calibrationRuns(
  kind: DeviceKind,
  seconds: number,
  precision: Precision = usualPrecision(kind),
): readonly CalibrationRun[] {
  const { batches, dimensions } = sizes[kind === 'cpu' ? 'cpu' : 'gpu'];
  const shares = [0.3, 0.5];
  return batches.map((batch, index) => ({
    request: { gpus: 1, nodes: 1, batch, precision, dimensions, optimizer: 'adamw' },
    budgetSeconds: seconds * (shares[index] ?? Number.NaN),
  }));
}

export const calibrationModel = `# Kernels of many kinds and sizes, by which \`layercost calibrate\` knows a machine.
name: calibration
dims: { batch: 8, image: 112, seq: 128, width: 512, heads: width / 64, vocab: 8000 }
inputs:
  images: float32[batch, 3, image, image]
  tokens: int64[batch, seq]
  next: int64[batch, seq]
  features: float32[batch, width]
layers:
  # Convolutions of images and of many channels, strided, pointwise, depthwise and grouped.
  - stem: Conv2d(3, 64, kernel_size=7, stride=2, padding=3, bias=False) from images
  - stem_norm: BatchNorm2d(64)
  - stem_relu: ReLU()
  - stem_pool: MaxPool2d(3, stride=2, padding=1)
  - dense: Conv2d(64, 64, kernel_size=3, padding=1, bias=False)
  - dense_norm: BatchNorm2d(64)
  - dense_relu: ReLU()
  - dense5: Conv2d(64, 64, kernel_size=5, padding=2, bias=False)
  - widen: Conv2d(64, 256, kernel_size=1, bias=False)
  - widen_norm: BatchNorm2d(256)
  - widen_sum: add(widen_norm, widen)
  - widen_relu: ReLU()
  - strided: Conv2d(256, 256, kernel_size=3, stride=2, padding=1)
  - strided_norm: BatchNorm2d(256)
  - strided_silu: SiLU()
  - dense256: Conv2d(256, 256, kernel_size=3, padding=1)
  - depthwise: Conv2d(256, 256, kernel_size=3, padding=1, groups=256, bias=False)
  - depthwise_norm: BatchNorm2d(256)
  - depthwise_clip: ReLU6()
  - depthwise5: Conv2d(256, 256, kernel_size=5, stride=2, padding=2, groups=256, bias=False)
  - depthwise5_norm: BatchNorm2d(256)
  - grouped: Conv2d(256, 512, kernel_size=3, padding=1, groups=8, bias=False)
  - grouped_relu: ReLU()
  - pointwise: Conv2d(512, 1024, kernel_size=1, bias=False)
  - pointwise_norm: BatchNorm2d(1024)
  - pointwise_relu: ReLU()
  - narrow: Conv2d(1024, 512, kernel_size=1, bias=False)
  - dense512: Conv2d(512, 512, kernel_size=3, padding=1)
  - pool: MaxPool2d(2, stride=1)
  - average: AvgPool2d(2, stride=1) from dense512
  - joined: cat(average, average, dim=1)
  - spread: AdaptiveAvgPool2d(1)
  - flat: Flatten()
  - drop: Dropout(0.5)
  - classes: Linear(1024, 1000)
  # A block of a transformer, with both kinds of normalization and feed-forward.
  - embed: Embedding(vocab, width) from tokens
  - norm: LayerNorm(width)
  - query: Linear(width, width)
  - key: Linear(width, width) from norm
  - value: Linear(width, width) from norm
  - query_heads: reshape(query, [batch, seq, heads, 64])
  - key_heads: reshape(key, [batch, seq, heads, 64])
  - value_heads: reshape(value, [batch, seq, heads, 64])
  - q: transpose(query_heads, 1, 2)
  - k: transpose(key_heads, 1, 2)
  - v: transpose(value_heads, 1, 2)
  - attention: scaled_dot_product_attention(q, k, v, is_causal=True)
  - tokens_first: transpose(attention, 1, 2)
  - merged: reshape(tokens_first, [batch, seq, width])
  - out: Linear(width, width)
  - dropped: Dropout(0.1)
  - sum: add(embed, dropped)
  - up: Linear(width, 4 * width)
  - gelu: GELU()
  - down: Linear(4 * width, width)
  - rms: RMSNorm(width)
  - gate: Linear(width, 4 * width, bias=False)
  - gate_silu: SiLU()
  - gate_up: Linear(width, 4 * width, bias=False) from rms
  - gated: mul(gate_silu, gate_up)
  - gate_down: Linear(4 * width, width, bias=False)
  - head: Linear(width, vocab, bias=False)
  - logits: reshape(head, [batch * seq, vocab])
  - labels: reshape(next, [batch * seq])
  - loss: CrossEntropyLoss() from logits, labels
  # Batched products and a softmax, as attention that is written out has them.
  - turned: transpose(k, 2, 3)
  - scores: matmul(q, turned)
  - weights: Softmax(-1)
  - mixed: matmul(scores, v)
  # Products of few rows: weights are read and updated for little work.
  - few1: Linear(width, 8 * width) from features
  - few1_relu: ReLU()
  - few2: Linear(8 * width, 4 * width)
  - few2_tanh: Tanh()
  - few3: Linear(4 * width, width)
  - few3_sigmoid: Sigmoid()
outputs: [loss, classes, pool, weights, mixed, few3_sigmoid]
`;
