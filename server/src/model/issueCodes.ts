/**
 * The registry of issue and finding codes. One entry per code: severity it usually has, title, explanation.
 *
 * `docs/issues.md` is generated from this file; a code that is not here cannot be used.
 */

interface CodeEntry {
  readonly title: string;
  /** Why it matters and what to do, one or two sentences. */
  readonly explanation: string;
}

export const issueCodes = {
  'file/empty': {
    title: 'The file is empty',
    explanation:
      'A model file has at least a graph. Export the model again, or check that the download finished.',
  },
  'file/truncated': {
    title: 'The file ends too early',
    explanation: 'A length in the file points past its end. Copy or export the model again.',
  },
  'file/corrupt': {
    title: 'The file is damaged',
    explanation:
      'It begins like a model and then holds bytes that cannot be part of one. Copy or export the model again.',
  },
  'file/not-a-model': {
    title: 'The file is not a model Layercost reads',
    explanation:
      'Layercost reads ONNX models (binary, ONNX text, protobuf text, JSON), layer specs (*.layers.yaml) and Caffe nets (.prototxt). The content decides, not the name.',
  },
  'file/unreadable': {
    title: 'The file cannot be read',
    explanation: 'The operating system refused to open or read the file.',
  },
  'onnx/newer-ir': {
    title: 'The file uses a newer ONNX IR version than this version of Layercost knows',
    explanation: 'Known fields are read as before; what is new is listed, so that nothing is lost silently.',
  },
  'onnx/unknown-field': {
    title: 'The file has a field this version of Layercost does not know',
    explanation: 'The field is skipped. If it changes what the model computes, the cost may differ.',
  },
  'onnx/text-syntax': {
    title: 'The text of an ONNX model cannot be read',
    explanation:
      'ONNX text follows docs/Syntax.md of the ONNX project, protobuf text and JSON follow onnx.proto. The message says what was expected at this place.',
  },
  'onnx/external-data-missing': {
    title: 'The file that holds the weights is missing',
    explanation:
      'Costs need only shapes, so they are complete; running the model needs the weights beside it.',
  },
  'onnx/external-data-outside': {
    title: 'External data points outside the model folder',
    explanation: 'ONNX forbids it (docs/ExternalDataSecurity.md). Layercost never opens such a path.',
  },
  'onnx/not-writable': {
    title: 'The model cannot be written',
    explanation:
      'Converting writes what reading keeps. Values that no reader keeps, such as tables of tree ensembles, types that could not be inferred, and files beyond protobuf’s 2 GiB cannot be written; the message says which.',
  },
  'onnx/unknown-element-type': {
    title: 'A tensor has an element type this version of Layercost does not know',
    explanation: 'Its size is unknown, so totals that contain it are lower bounds.',
  },
  'onnx/payload-size': {
    title: 'The data of a tensor do not fit its type',
    explanation:
      'Runtimes refuse it. Costs follow the shape; export the model again, or correct the shape of the tensor.',
  },
  'graph/cycle': {
    title: 'The graph has a cycle',
    explanation:
      'An operator needs, through others, its own output. ONNX graphs are acyclic; export the model again.',
  },
  'graph/undefined-value': {
    title: 'An operator reads a value that nothing defines',
    explanation: 'The name is neither an input, an initializer nor the output of another operator.',
  },
  'graph/duplicate-value': {
    title: 'Two operators define the same value',
    explanation:
      'ONNX graphs are in single-assignment form; the first definition is used. Where very many operators only define again what is defined before them, they are left out.',
  },
  'graph/crowded-operators': {
    title: 'More operators than bytes can name',
    explanation:
      'More than 50,000 operators take fewer than 24 bytes each, which hold hardly their names: no exporter writes such a file, it is damaged or made to harm. What comes after the first 50,000 is left out; export the model again.',
  },
  'graph/idle-operators': {
    title: 'Very many operators have no output',
    explanation:
      'What gives nothing has no use, and no exporter writes it: the file is damaged or made to harm. They are left out; export the model again.',
  },
  'graph/missing-type': {
    title: 'An input has no element type',
    explanation: 'ONNX demands one, and bytes depend on it. Export the model again, or declare the type.',
  },
  'graph/missing-contents': {
    title: 'A size is to be read from a tensor that the file stores without data',
    explanation:
      'Weights may be left out, because costs need only their shapes; small tensors that shapes are computed from may not.',
  },
  'graph/unknown-operator': {
    title: 'An operator is not known',
    explanation:
      'Its cost and output shapes are unknown, so totals are lower bounds. It is an error in a domain of ONNX itself, where no runtime can have it.',
  },
  'graph/invalid-operator': {
    title: 'An operator is used in a way its definition does not allow',
    explanation:
      'An attribute or an input is missing, superfluous, or has a value or element type that the operator refuses.',
  },
  'graph/attribute': {
    title: 'An operator does not take an attribute as it is written',
    explanation:
      'Its name is not one that this version of the operator has, its value is of another type, or one that the operator needs is missing. `onnx.checker` and runtimes refuse the model, and the cost is that of the default.',
  },
  'graph/unsupported-operator': {
    title: 'An operator is known but its cost is not',
    explanation: 'Totals that contain it are lower bounds.',
  },
  'graph/nothing-costed': {
    title: 'Nothing of the model could be costed',
    explanation: 'The other messages say why. Most often a symbolic dimension has no value.',
  },
  'shape/mismatch': {
    title: 'Shapes contradict each other',
    explanation: 'An operator cannot be applied to inputs of these shapes.',
  },
  'shape/unknown': {
    title: 'A shape cannot be known',
    explanation:
      'It depends on data or on something unknown before it; totals that contain it are lower bounds.',
  },
  'shape/unbound-dimension': {
    title: 'A symbolic dimension has no value',
    explanation: 'Give it one with --dim NAME=VALUE, in the settings, or in the layer spec under dims.',
  },
  'spec/syntax': {
    title: 'The layer spec is not valid YAML',
    explanation: 'The text cannot be read as YAML at this place.',
  },
  'spec/structure': {
    title: 'The layer spec has an unexpected structure',
    explanation: 'A key is missing, unknown, or has the wrong kind of value.',
  },
  'spec/call': {
    title: 'A layer call cannot be read',
    explanation: 'A layer is one call in PyTorch style, such as Linear(768, 3072).',
  },
  'spec/unknown-layer': {
    title: 'A layer type is not known',
    explanation: 'Neither a built-in layer nor a block of this file has this name.',
  },
  'spec/argument': {
    title: 'A layer argument is wrong',
    explanation: 'An argument is missing, unknown, repeated, or has the wrong kind of value.',
  },
  'spec/unknown-source': {
    title: 'A layer takes its input from a layer that does not exist',
    explanation: 'Sources are layers above, model inputs, or `input` inside a block.',
  },
  'spec/duplicate-name': {
    title: 'Two layers have the same name',
    explanation: 'Names are unique inside a block and at the top level, so that sources are unambiguous.',
  },
  'spec/dimension': {
    title: 'A dimension cannot be evaluated',
    explanation: 'Dimensions are integers, names under dims, and arithmetic on them.',
  },
  'spec/include': {
    title: 'A file cannot be included in a layer spec',
    explanation:
      'Included files are layer specs in the folder of the model or below it; their blocks can be called like those of the file itself. A block sees its parameters and the dims of its own file.',
  },
  'spec/model': {
    title: 'A file holds several models, or not the one asked for',
    explanation: 'The first is taken; FILE#NAME on the command line chooses another one.',
  },
  'spec/unused': {
    title: 'Nothing uses a block or a dimension',
    explanation: 'It costs nothing. Remove it, or check the name where it was meant to be used.',
  },
  'spec/unread-layer': {
    title: 'Nothing reads a layer',
    explanation:
      'No other layer takes its output, and it is no output of the model: its forward is computed, nothing flows back to its weights. Name it in `outputs`, read it, or remove it. A layer reads the one above unless it names others with `from` or among its arguments.',
  },
  'spec/scenario': {
    title: 'The scenario of the layer spec is wrong',
    explanation:
      'Its keys are those of the command line: cluster, nodes, gpus, batch, precision, optimizer, framework, mode.',
  },
  'caffe/syntax': {
    title: 'The prototxt cannot be read',
    explanation:
      'A prototxt is protobuf text: fields are written `name: value` or `name { fields }`. Reading goes on at the next layer.',
  },
  'caffe/not-a-net': {
    title: 'The prototxt is not a Caffe net',
    explanation:
      'A net is a list of layers. A solver, a label map or another message has the same ending but no layers; open the net itself.',
  },
  'caffe/unknown-field': {
    title: 'A Caffe message has no such field',
    explanation:
      'Neither BVLC Caffe nor the forks Layercost knows have it. Caffe itself refuses such a file; the field is skipped here.',
  },
  'caffe/value': {
    title: 'A field of a Caffe net has a wrong value',
    explanation: 'The value is of another kind than the field takes, or is given too often.',
  },
  'caffe/unknown-layer': {
    title: 'A Caffe layer type is not known',
    explanation:
      'It is neither of BVLC Caffe nor of a fork Layercost knows, so its outputs and its cost are unknown and totals are lower bounds.',
  },
  'caffe/layer': {
    title: 'A Caffe layer is not complete',
    explanation: 'A bottom, a top or a parameter is missing, superfluous, or has a value that Caffe refuses.',
  },
  'caffe/unknown-blob': {
    title: 'A Caffe layer reads a blob that no layer above it writes',
    explanation:
      'Bottoms are tops of layers above, in the order of the file, that are in the net in the same phase, or inputs of the net.',
  },
  'caffe/data-shape': {
    title: 'The net does not say how large its data is',
    explanation:
      'A data layer takes the size of its samples from the data base, which is not part of the net. Give it with --dim, or as layercost.dimensions in the settings.',
  },
  'caffe/unknown-cost': {
    title: 'The cost of a Caffe layer cannot be known',
    explanation:
      'What it computes is in another file or depends on the data, so its cost is left out and totals are lower bounds.',
  },
  'scenario/unknown-cluster': {
    title: 'The cluster is not known',
    explanation: '`layercost clusters` lists the built-in profiles.',
  },
  'scenario/invalid': {
    title: 'A scenario option has a wrong value',
    explanation: 'The message names the option and the values it takes.',
  },
  'scenario/fixed-batch': {
    title: 'The model fixes its batch size',
    explanation:
      'The file was exported with a constant batch, so the requested one cannot be applied. Export with a dynamic batch.',
  },
  'scenario/no-blocks': {
    title: 'No blocks to checkpoint',
    explanation:
      'Checkpointing keeps what goes into repeated blocks: numbered modules, such as `layers.0` and `layers.1`, whose weights have the same shapes. The model has none, or its file does not name its modules.',
  },
  'scenario/opened-batch': {
    title: 'The batch of the model was opened',
    explanation:
      'The file was exported with a constant batch. Costs for another batch are those of the same layers with the leading dimension of the inputs replaced, which was checked to give the same model.',
  },
  'scenario/default-batch': {
    title: 'The batch has no value',
    explanation:
      'The model leaves the batch open and no value was given, so it is costed for one sample per GPU.',
  },
  'framework/syntax': {
    title: 'The description of the framework is not valid YAML',
    explanation: 'The text cannot be read as YAML or JSON at this place.',
  },
  'framework/structure': {
    title: 'The description of the framework has an unexpected structure',
    explanation:
      'A key is missing, unknown, has the wrong kind of value, or contradicts another. `docs/frameworks.md` shows an example with all keys.',
  },
  'framework/file': {
    title: 'The file that describes the framework cannot be read',
    explanation:
      'A layer spec names a file below its own folder, as `framework: ./mine.yaml`; on the command line any path will do.',
  },
  'cluster/syntax': {
    title: 'The cluster profile is not valid JSON',
    explanation: 'The text cannot be read as JSON at this place.',
  },
  'cluster/structure': {
    title: 'The cluster profile has an unexpected structure',
    explanation:
      'A key is missing, unknown, or has the wrong kind of value. `layercost clusters NAME` shows a built-in profile.',
  },
  'scenario/unknown-framework': {
    title: 'The framework is not known',
    explanation: 'The message lists the frameworks whose behaviour is built in.',
  },
  'measurement/trace': {
    title: 'A layer trace cannot be used as it is',
    explanation:
      'A trace has a header line with the columns layer, forward_ms and backward_ms (or _s, _us, _ns), and one row per layer named as the report names it.',
  },
  'findings/out-of-memory': {
    title: 'The step does not fit in GPU memory',
    explanation: 'Peak memory is above what the GPU has. The message names the largest batch that fits.',
  },
  'findings/little-memory-left': {
    title: 'The step fits in GPU memory with little to spare',
    explanation:
      'Tensors fit, but the caching allocator reserves more than they need, and driver and kernels take memory beside it. The message names both.',
  },
  'findings/exposed-communication': {
    title: 'Gradient communication is not hidden',
    explanation: 'Backward computation is too short to hide the all-reduce of this layer.',
  },
  'findings/late-gradient': {
    title: 'One huge gradient is ready only as backward ends',
    explanation:
      'It is a large share of all gradient bytes, and nothing computes after it that could hide its message.',
  },
  'findings/small-messages': {
    title: 'Communication is bound by the start-up cost of small messages',
    explanation:
      'Every message pays a start-up cost whatever its size. Merging gradients or larger buckets pay it less often.',
  },
  'findings/server-saturated': {
    title: 'A parameter server limits the step',
    explanation:
      'It is busy nearly all of the step with what workers send and fetch, so that more workers only wait longer.',
  },
  'findings/serial-rank': {
    title: 'Every worker waits for the first one',
    explanation: 'Rank 0 exchanges a message with each other worker in turn, in every step.',
  },
  'findings/slow-network': {
    title: 'The network between nodes is slower than the model needs',
    explanation: 'Gradients cannot hide behind backward at the bandwidth that a node has.',
  },
  'findings/oversubscribed-network': {
    title: 'The job spans more nodes than one switch holds',
    explanation:
      'Uplinks of an oversubscribed fabric carry a part of what the ports of a switch do, so traffic between switches is slower.',
  },
  'findings/buffers-out-of-memory': {
    title: 'Communication buffers do not fit',
    explanation: 'The step would fit without the copies of gradients that messages are sent from.',
  },
  'findings/low-efficiency': {
    title: 'GPUs do much less than they could',
    explanation:
      'Efficiency is the step of one GPU by itself over the step on all of them. The message says up to how many GPUs it holds.',
  },
  'findings/slower-than-fewer': {
    title: 'The job is slower than on fewer GPUs',
    explanation: 'What GPUs add to computing is less than what they add to waiting.',
  },
  'findings/input-bound': {
    title: 'GPUs wait for samples',
    explanation: 'Reading or decoding a batch takes longer than the step that it is for.',
  },
  'findings/copy-bound': {
    title: 'GPUs wait for samples to be copied to them',
    explanation: 'The link from the host to the GPU is slower than the GPU takes samples.',
  },
  'findings/load-imbalance': {
    title: 'Workers wait for the slowest',
    explanation: 'A synchronous step takes as long as its slowest worker, or the one with the most samples.',
  },
  'findings/slow-start': {
    title: 'Much of the run is spent before its first step',
    explanation:
      'Starting and reading the data set take a large share of the run, which more workers do not shorten.',
  },
  'findings/launch-bound': {
    title: 'The step is bound by kernel launches',
    explanation:
      'Kernels are so small that the host cannot launch them fast enough. Raise the batch or compile the model.',
  },
  'findings/unaligned-tensor-cores': {
    title: 'A matrix dimension is not aligned for tensor cores',
    explanation: 'Dimensions that are multiples of 8 (fp16, bf16) use tensor cores at full rate.',
  },
  'findings/unsupported-precision': {
    title: 'The GPU has no fast path for this precision',
    explanation: 'The precision runs at the rate of a wider one, or not at all, on this GPU.',
  },
} as const satisfies Readonly<Record<string, CodeEntry>>;

export type IssueCode = keyof typeof issueCodes;
