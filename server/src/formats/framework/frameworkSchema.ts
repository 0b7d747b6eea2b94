/** The form of a file that describes a framework; `syntaxes/framework.schema.json` is generated from it. */

import { z } from 'zod';

const size = z.number().positive();
const count = z.int().positive();
/** Parts, servers and steps are laid out one by one: no system has more, and a slip of the pen is told. */
const leastPartMiB = 1 / 64;
const mostServers = 10_000;
const mostStepsLater = 100;

export const frameworkFile = z.strictObject({
  $schema: z.string().optional(),
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._-]*$/, 'must be lower case letters, digits, dots and hyphens')
    .describe('Name shown in reports.'),
  title: z.string().min(1).optional().describe('One line: what it is.'),
  kernels: z
    .enum(['pytorch', 'cudnn-era'])
    .default('pytorch')
    .describe('Framework whose kernels it launches.'),
  gradients: z
    .strictObject({
      messages: z
        .enum(['buckets', 'tensors', 'layers', 'one'])
        .default('buckets')
        .describe('Which gradients are sent together.'),
      bucketMiB: size.default(25).describe('Size at which a bucket is full.'),
      firstBucketMiB: size.optional().describe('Size of the first bucket; default: the size of the others.'),
      partMiB: z
        .number()
        .min(leastPartMiB)
        .optional()
        .describe('Larger messages are split into parts of this size.'),
      bytesPerElement: z.number().positive().max(8).optional().describe('Number format on the wire.'),
      send: z
        .enum(['when-ready', 'after-backward'])
        .default('when-ready')
        .describe('When a message may start.'),
      over: z
        .enum(['all-reduce', 'parameter-servers', 'reduce-and-broadcast'])
        .default('all-reduce')
        .describe('How messages are exchanged.'),
      library: z
        .enum(['nccl', 'open-mpi', 'mpich'])
        .default('nccl')
        .describe('Library that runs collectives.'),
      hierarchical: z.boolean().default(false).describe('Reduce within each node first, then between nodes.'),
      order: z
        .enum(['first-come', 'by-priority'])
        .default('first-come')
        .describe(
          'Which ready message is sent first; by priority: the one that the next forward needs first.',
        ),
      neededBy: z.enum(['update', 'next-use']).default('update').describe('What waits for a message.'),
      everySteps: count.default(1).describe('Steps between two exchanges.'),
      stepsLater: z
        .int()
        .nonnegative()
        .max(mostStepsLater)
        .default(0)
        .describe('Delay of an update in steps.'),
    })
    .prefault({}),
  servers: z
    .strictObject({
      count: count.max(mostServers).optional().describe('Default: the number of nodes.'),
      colocated: z.boolean().default(true).describe("Whether servers run on the workers' nodes."),
      splitFromElements: count
        .optional()
        .describe('Tensors with at least so many elements are split over all servers.'),
      asynchronous: z.boolean().default(false).describe('Whether workers do not wait for each other.'),
    })
    .prefault({}),
  update: z
    .enum(['after-all', 'as-they-arrive', 'at-servers'])
    .default('after-all')
    .describe('When and where parameters are updated.'),
  input: z
    .strictObject({
      ahead: z
        .enum(['nothing', 'reading', 'reading-and-copying'])
        .default('reading-and-copying')
        .describe('Which stages of the input pipeline overlap with the step.'),
      reads: z.enum(['own-share', 'everything']).default('own-share').describe('What each worker reads.'),
      pipelined: z
        .boolean()
        .default(true)
        .describe('Whether reading and copying of different batches overlap.'),
    })
    .prefault({}),
});
