/** `docs/frameworks.md`: every behaviour with what it overlaps, its options and its sources. */

import type { FrameworkEntry } from '../server/src/frameworks/frameworkEntry.ts';
import { optimizerDefinitions } from '../server/src/frameworks/optimizers/optimizers.ts';
import { frameworks } from '../server/src/frameworks/registry.ts';
import { optimizers } from '../server/src/model/scenario.ts';

export function frameworksPage(): string {
  return `# Frameworks

What a framework sends, when, and what waits for it. Choose one with \`--framework NAME[,option=value…]\`, the setting
\`layercost.framework\`, or \`framework:\` in the \`scenario\` of a layer spec. A layer spec may also write options as a mapping:
\`framework: { name: pytorch-ddp, bucket-mb: 50 }\`. An option without a value is \`true\`. Generated from
\`server/src/frameworks/\`.

| name | what it is |
| --- | --- |
${frameworks.map(({ name, documentation }) => `| [\`${name}\`](#${name}) | ${documentation} |`).join('\n')}

${frameworks.map(sectionOf).join('\n')}
## Optimizers

Choose one with \`--optimizer NAME\`, the setting \`layercost.optimizer\`, or \`optimizer:\` in the \`scenario\` of a layer spec. It
sets the kernels of the update and what is kept between steps. States are as wide as the weights that are updated.

| name | what it is |
| --- | --- |
${optimizers.map((name) => `| \`${name}\` | ${name === 'none' ? 'No update' : optimizerDefinitions[name].documentation} |`).join('\n')}

Adafactor, LAMB and Muon need norms or products of whole tensors. They are refused where GPUs share tensors: with
\`pytorch-fsdp\`, \`deepspeed-zero\` and tensor parallelism. Muon takes weights of two dimensions that a layer multiplies by, but
no embedding tables and no weights of their shape.

## User-defined frameworks

Describe your own framework in a YAML or JSON file. Give its path to \`--framework ./mine.yaml\` or the setting
\`layercost.framework\`. In the \`scenario\` of a layer spec, write \`framework: ./mine.yaml\`; the file must be in the folder of
the layer spec or below it. Only \`name\` is required; the example shows the defaults. Errors are reported at their line; a file
with an error is not used. \`syntaxes/framework.schema.json\` is the schema.

\`\`\`yaml
${describedExample}\`\`\`
`;
}

/** Every key, with its default where it has one. */
export const describedExample = `name: our-stack
title: our trainer, gradients in buckets   # one line for reports
kernels: pytorch              # or cudnn-era: cuBLAS and cuDNN calls, one kernel for every other operator
gradients:
  messages: buckets           # or tensors, layers, one
  bucketMiB: 25
  firstBucketMiB: 1           # default: the size of the others
  partMiB: 64                 # split larger messages; default: whole
  bytesPerElement: 2          # on the wire; default: unchanged
  send: when-ready            # or after-backward
  over: all-reduce            # or parameter-servers, reduce-and-broadcast
  library: nccl               # or open-mpi, mpich
  hierarchical: false         # reduce within each node first, then between nodes
  order: first-come           # or by-priority: what the next forward needs first
  neededBy: update            # or next-use: the next forward of its layer waits, not the update
  everySteps: 1               # steps between two exchanges
  stepsLater: 0               # delay of an update in steps
servers:                      # with over: parameter-servers
  count: 4                    # default: the number of nodes
  colocated: true
  splitFromElements: 1000000  # split larger tensors over all servers; default: whole
  asynchronous: false
update: after-all             # or as-they-arrive, at-servers
input:
  ahead: reading-and-copying  # or reading, nothing
  reads: own-share            # or everything
  pipelined: true
`;

const sectionOf = ({
  name,
  documentation,
  overlaps,
  sources,
  options,
  oneNode,
  trainsIn,
  optimizers: rules,
}: FrameworkEntry): string =>
  `## ${name}

${documentation}.${oneNode ? ' One node only.' : ''}

Overlap: ${overlaps}.

Precision where none is chosen: ${trainsIn === 'half' ? 'the half precision of the GPU, mixed (bf16, or fp16 on V100 and T4), else fp32' : 'fp32'}.

${
  rules?.takes === undefined
    ? ''
    : `Optimizers: ${rules.takes.map((name) => `\`${name}\``).join(', ')}.

`
}| option | default | values |
| --- | --- | --- |
${options.map((option) => `| \`${option.name}\` | \`${option.default}\` | ${option.documentation} |`).join('\n')}

Sources: ${sources.join('; ')}.
`;
