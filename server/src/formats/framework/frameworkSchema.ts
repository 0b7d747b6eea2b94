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
  kernels: z.enum(['pytorch', 'cudnn-era']).default('pytorch').describe('Whose kernels it launches.'),
  gradients: z
    .strictObject({
      messages: z
        .enum(['buckets', 'tensors', 'layers', 'one'])
        .default('buckets')
        .describe('What is sent together.'),
      bucketMiB: size.default(25).describe('Size at which a bucket is full.'),
      firstBucketMiB: size.optional().describe('Size of the first bucket; like the others where left out.'),
      partMiB: z.number().min(leastPartMiB).optional().describe('Larger messages go in parts of this size.'),
      bytesPerElement: z.number().positive().max(8).optional().describe('On the wire.'),
      send: z
        .enum(['when-ready', 'after-backward'])
        .default('when-ready')
        .describe('When a message may start.'),
      over: z
        .enum(['all-reduce', 'parameter-servers', 'reduce-and-broadcast'])
        .default('all-reduce')
        .describe('How it travels.'),
      library: z.enum(['nccl', 'open-mpi', 'mpich']).default('nccl').describe('Who runs collectives.'),
      hierarchical: z.boolean().default(false).describe('The GPUs of a node first, then the nodes.'),
      order: z
        .enum(['first-come', 'by-priority'])
        .default('first-come')
        .describe('Which of the ready messages goes first; by priority, what the next forward needs first.'),
      neededBy: z.enum(['update', 'next-use']).default('update').describe('What waits for a message.'),
      everySteps: count.default(1).describe('Sent once in so many steps.'),
      stepsLater: z
        .int()
        .nonnegative()
        .max(mostStepsLater)
        .default(0)
        .describe('Steps that training goes on without it.'),
    })
    .prefault({}),
  servers: z
    .strictObject({
      count: count.max(mostServers).optional().describe('As many as nodes where left out.'),
      colocated: z.boolean().default(true).describe("On the workers' nodes."),
      splitFromElements: count.optional().describe('Tensors of so many elements are split over all servers.'),
      asynchronous: z.boolean().default(false).describe('No worker waits for another.'),
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
        .describe('What is done for the next steps while one computes.'),
      reads: z.enum(['own-share', 'everything']).default('own-share').describe('What each worker reads.'),
      pipelined: z.boolean().default(true).describe('Reading and copying of different batches run at once.'),
    })
    .prefault({}),
});
