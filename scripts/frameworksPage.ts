/** `docs/frameworks.md`: every behaviour with what it overlaps, its options and its sources. */

import type { FrameworkEntry } from '../server/src/frameworks/frameworkEntry.ts';
import { frameworks } from '../server/src/frameworks/registry.ts';

export function frameworksPage(): string {
  return `# Frameworks

What a framework sends, when, and what waits for it. Choose one with \`--framework NAME[,option=value…]\`, \`framework:\` in the
\`scenario\` of a layer spec, where options may also be a mapping (\`framework: { name: pytorch-ddp, bucket-mb: 50 }\`), or the
setting \`layercost.framework\`. An option without a value is \`true\`. Generated from \`server/src/frameworks/\`.

| name | what it is |
| --- | --- |
${frameworks.map(({ name, documentation }) => `| [\`${name}\`](#${name}) | ${documentation} |`).join('\n')}

${frameworks.map(sectionOf).join('\n')}
## One's own

A behaviour of one's own is a YAML (or JSON) file: \`--framework ./mine.yaml\` on the command line, \`framework: ./mine.yaml\` in
the \`scenario\` of a layer spec, below whose folder it lies, or its path in the setting \`layercost.framework\`. Only
\`name\` is needed; what is left out is as here. A mistake is reported at its line, and nothing is costed with half a file. \`syntaxes/framework.schema.json\` has the schema.

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
  firstBucketMiB: 1           # like the others where left out
  partMiB: 64                 # larger messages go in parts; whole where left out
  bytesPerElement: 2          # on the wire; as they are where left out
  send: when-ready            # or after-backward
  over: all-reduce            # or parameter-servers, reduce-and-broadcast
  library: nccl               # or open-mpi, mpich
  hierarchical: false         # the GPUs of a node first, then the nodes
  order: first-come           # or by-priority: what the next forward needs first
  neededBy: update            # or next-use: the next forward of its layer waits, not the update
  everySteps: 1               # sent once in so many steps
  stepsLater: 0               # steps that training goes on without it
servers:                      # with over: parameter-servers
  count: 4                    # as many as nodes where left out
  colocated: true
  splitFromElements: 1000000  # tensors of so many elements over all servers; whole where left out
  asynchronous: false
update: after-all             # or as-they-arrive, at-servers
input:
  ahead: reading-and-copying  # or reading, nothing
  reads: own-share            # or everything
  pipelined: true
`;

const sectionOf = ({ name, documentation, overlaps, sources, options, oneNode }: FrameworkEntry): string =>
  `## ${name}

${documentation}.${oneNode ? ' One node only.' : ''}

Overlap: ${overlaps}.

| option | default | values |
| --- | --- | --- |
${options.map((option) => `| \`${option.name}\` | \`${option.default}\` | ${option.documentation} |`).join('\n')}

Sources: ${sources.join('; ')}.
`;
