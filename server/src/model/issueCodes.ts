/**
 * The registry of issue and finding codes. One entry per code: severity it usually has, title, explanation.
 *
 * `docs/issues.md` is generated from this file; a code that is not here cannot be used.
 */

interface CodeEntry {
  readonly title: string;
  /** Why it matters and what to do, one or two sentences. */
  readonly explanation: string;
  /**
   * An error of this code keeps a part of the model out of the graph, or puts it there other than it is written, without
   * an operator of unknown cost in its place: totals are lower bounds.
   */
  readonly leavesOut?: true;
  /** Keys of the scenario that cause a finding about the whole step, the likeliest first: it stands where one is set. */
  readonly causes?: readonly ScenarioCause[];
}

export type ScenarioCause =
  | 'batch'
  | 'globalBatch'
  | 'cluster'
  | 'framework'
  | 'gpus'
  | 'input'
  | 'parallel'
  | 'past'
  | 'precision'
  | 'run'
  | 'workers';

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
    title: 'The file is corrupt',
    explanation:
      'It begins like a model, but later bytes cannot be part of one. Copy or export the model again.',
  },
  'file/not-a-model': {
    title: 'The file is not a model Layercost reads',
    explanation:
      'Layercost reads ONNX models (binary, ONNX text, protobuf text, JSON), layer specs (*.layers.yaml), Caffe nets (.prototxt) and the `config.json` of models of transformers. It reads archives of `torch.export` (.pt2) too. On the command line it costs a GGUF file by its metadata, and weights (.safetensors) by the `config.json` beside them. The content decides the format, not the name.',
  },
  'file/unreadable': {
    title: 'The file cannot be read',
    explanation: 'The operating system refused to open or read the file.',
  },
  'pt2/archive': {
    title: 'The archive of torch.export cannot be read',
    explanation:
      'A `.pt2` file is a zip archive whose entries are stored as they are. Compressed, encrypted, overlapping and damaged entries are refused. Weights are never read.',
  },
  'pt2/branch': {
    title: 'Data decides which branch of the program runs',
    explanation:
      '`torch.cond` runs one of two graphs, which the values of a tensor choose. The one that reads and writes more elements is costed in every step; weights of the other one count as parameters.',
  },
  'pt2/checkpoint': {
    title: 'The exported program checkpoints activations',
    explanation:
      'The stack traces of the program go through a call of `torch.utils.checkpoint`. Forward keeps what goes into the call, and backward computes it again, as in PyTorch. `checkpoint: none` keeps everything. Calls outside of `forward` leave no trace: PyTorch records frames of `forward` alone.',
  },
  'pt2/custom-backward': {
    title: 'A function of the exported program has a backward of its own',
    explanation:
      'The stack traces of the program go through `apply` of a `torch.autograd.Function`. An archive holds the operators of its forward alone. Backward, and what it keeps, are costed as those of these operators. What the function does instead is not known.',
  },
  'pt2/decomposed': {
    title: 'The exported program was decomposed',
    explanation:
      'After `run_decompositions()` a program has functions in their parts, such as a loss as logarithms and products. Each part keeps what its own backward needs. Nothing says any more where `torch.no_grad` was; what `detach` gave is still known. Save the program without decompositions for the step as it is trained.',
  },
  'pt2/loop': {
    title: 'How often a loop of the program runs is assumed',
    explanation:
      '`while_loop` runs while its counter is below a bound. Where the counter begins is stored with the weights, which are never read, and taken as 0.',
  },
  'pt2/no-gradient': {
    title: 'Nothing of the exported program is trained',
    explanation:
      'All that the program gives is computed where gradients are off, by `torch.no_grad` or by a checkpoint with `use_reentrant=True`. Its weights ask for gradients. Export the model without checkpoints, or with `use_reentrant=False`.',
  },
  'pt2/no-program': {
    title: 'The archive holds no exported program',
    explanation:
      'The graph is in a `.pt2` file that `torch.export.save` writes. Packages of AOTInductor hold machine code instead. Checkpoints hold weights only.',
  },
  'pt2/operand': {
    title: 'A tensor that the exported program reads is missing',
    explanation:
      'Every operator of a program reads inputs, weights and results of operators before it. The cost of an operator whose operand is missing is unknown.',
  },
  'pt2/several': {
    title: 'The archive holds several programs',
    explanation: 'The first one is used. Save each program to a file of its own to see the others.',
  },
  'pt2/ties': {
    title: 'Two weights of the exported program may be one',
    explanation:
      'Language models often use the table of their tokens as the weight of their head too. An archive of `torch.export` has both under names of their own. The report counts two weights, two gradients and two states of the optimizer.',
  },
  'pt2/version': {
    title: 'The schema of the exported program is not known',
    explanation:
      'PyTorch raises the major version of its schema when old readers would misread a program. Export the model with a version that the message names.',
  },
  'pt2/write': {
    title: 'A write into a part of a tensor is not followed',
    explanation:
      'A program may write into a view, such as the diagonal of a tensor. Slices, positions, parts, reshaped and transposed views are followed. Behind another view, what was written seems to be read by nothing: its weights then have no gradient in the report.',
  },
  'config/unreadable': {
    title: 'The config of a model cannot be read',
    explanation:
      'A `config.json` of Hugging Face transformers is a JSON object with `model_type` and the sizes of the model.',
  },
  'config/unknown-type': {
    title: 'The architecture of the config is not known',
    explanation:
      'Layercost knows many types of transformers and writes each as a layer spec. A type that it does not know would have other costs, so none are shown. Export the model instead.',
  },
  'config/assumed-length': {
    title: 'The length of a sequence is assumed',
    explanation:
      'A config says how long a sequence may be, not how long it is in training. Time and memory of attention and activations depend on it. Give `seq` a value.',
  },
  'config/assumed-images': {
    title: 'The number of images is assumed',
    explanation:
      'A config does not say how many images a sequence has, nor how large they are where a model takes any size. Their tokens are a part of the sequence. Give `images` a value: how many each sequence has.',
  },
  'config/part': {
    title: 'A part of the model in a config is left out',
    explanation:
      'The config describes several networks, such as one of text and one of images. Only the one of text is known, so that totals are lower bounds. Export the model for the whole.',
    leavesOut: true,
  },
  'config/quantized': {
    title: 'The weights of the model are stored in fewer bits',
    explanation:
      'The config has a `quantization_config`: the repository stores weights of linear layers in 8, 4 or fewer bits. Layercost costs the network in the precision of the scenario. Kernels that multiply quantized weights are not costed. Stored weights are smaller than the memory of weights shown here.',
  },
  'config/own-code': {
    title: 'The repository of the config has code of its own',
    explanation:
      'The config has an `auto_map`: transformers runs code of the repository with `trust_remote_code`. Layercost reads no such code. It costs the class of transformers that has the same `model_type`. Where the two differ, export the model.',
  },
  'config/not-read': {
    title: 'A field of the config changes the network and is not read',
    explanation:
      'The class of transformers does something with this field that Layercost leaves out. The message says what. Costs are those of the network without it. Export the model for the whole.',
  },
  'config/weights': {
    title: 'Weights beside a config',
    explanation:
      'A file of weights does not say what is computed: the `config.json` beside it does. The numbers of both are compared. Where they differ, one of them is of another model.',
  },
  'onnx/newer-ir': {
    title: 'The file uses a newer ONNX IR version than this version of Layercost knows',
    explanation: 'Known fields are read as usual. Unknown fields are listed, so nothing is lost silently.',
  },
  'onnx/unknown-field': {
    title: 'The file has a field this version of Layercost does not know',
    explanation: 'The field is skipped. If it changes what the model computes, the cost may differ.',
    leavesOut: true,
  },
  'onnx/text-syntax': {
    title: 'The text of an ONNX model cannot be read',
    explanation:
      'ONNX text follows docs/Syntax.md of the ONNX project; protobuf text and JSON follow onnx.proto. The message says what was expected here.',
    leavesOut: true,
  },
  'onnx/external-data-missing': {
    title: 'The file that holds the weights is missing',
    explanation: 'Costs need only shapes, so they are complete. To run the model, put the weights beside it.',
  },
  'onnx/external-data-outside': {
    title: 'External data points outside the model folder',
    explanation: 'ONNX forbids it (docs/ExternalDataSecurity.md). Layercost never opens such a path.',
  },
  'onnx/not-writable': {
    title: 'The model cannot be written',
    explanation:
      'Conversion writes only what the reader keeps. Tables of tree ensembles, types that could not be inferred, and files beyond protobuf’s 2 GiB cannot be written. The message says which one applies.',
  },
  'onnx/unknown-element-type': {
    title: 'A tensor has an element type this version of Layercost does not know',
    explanation: 'Its size is unknown, so totals that contain it are lower bounds.',
  },
  'onnx/payload-size': {
    title: 'The data of a tensor does not fit its type',
    explanation:
      'Runtimes refuse such a tensor. Costs follow its shape. Export the model again, or correct the shape of the tensor.',
  },
  'graph/cycle': {
    title: 'The graph has a cycle',
    explanation:
      'An operator depends on its own output through other operators. ONNX graphs are acyclic; export the model again.',
  },
  'graph/undefined-value': {
    title: 'An operator reads an undefined value',
    explanation: 'The name is not an input, an initializer or the output of another operator.',
    leavesOut: true,
  },
  'graph/duplicate-value': {
    title: 'Two operators define the same value',
    explanation:
      'ONNX graphs are in single-assignment form; the first definition is used. If very many operators only redefine values, they are dropped.',
    leavesOut: true,
  },
  'graph/crowded-operators': {
    title: 'Implausibly many operators for the size of the file',
    explanation:
      'More than 30,000 operators take under 64 bytes each, half of what the shortest of real files take: the file is corrupt or malicious. Operators after the first 30,000 are dropped. Export the model again.',
    leavesOut: true,
  },
  'graph/idle-operators': {
    title: 'Very many operators have no output',
    explanation:
      'An operator without outputs has no effect; no exporter emits one. The file is corrupt or malicious. These operators are dropped. Export the model again.',
    leavesOut: true,
  },
  'graph/missing-type': {
    title: 'An input has no element type',
    explanation:
      'ONNX requires one, and sizes in bytes depend on it. Export the model again, or declare the type.',
  },
  'graph/missing-contents': {
    title: 'A shape depends on a tensor whose data is not in the file',
    explanation:
      'A file may omit the data of weights, because costs need only their shapes. It may not omit small tensors that shapes are computed from.',
  },
  'graph/computed-weights': {
    title: 'Weights were computed from parameters when the model was exported',
    explanation:
      'Constant folding cuts a position embedding to the length of the example, spreads a bias table by its index, or multiplies out weight normalization. The parameter itself is then not in the file, and its elements cannot be counted exactly. Nor are the operators that compute it in each step, which the time leaves out.',
  },
  'graph/assumed-weights': {
    title: 'The file does not tell parameters from buffers',
    explanation:
      'The TorchScript exporter stores both alike, by their names in the program. What stands in arithmetic alone may be either: a scale that is learned, or a table of angles. It is costed as trained: its gradient is sent, and what it is multiplied by is kept.',
  },
  'graph/assumed-casts': {
    title: 'The file does not tell casts of the model from promotion of types',
    explanation:
      'ONNX multiplies tensors of one type alone, so that the TorchScript exporter writes a cast into `x * mask` too. PyTorch reads the mask as it is there, and keeps it with one byte per element. For `x * mask.float()`, it keeps numbers.',
  },
  'graph/lost-casts': {
    title: 'The file does not have the casts of the model',
    explanation:
      'The default exporter leaves out casts that change nothing in fp32, such as `x.float()` before a normalization and `x.to(dtype)` behind it. In half precision they decide how wide tensors are, what is kept for backward, and which kernels cast. Without them each operator runs in the type that `torch.autocast` gives it. The TorchScript exporter leaves out `type_as` alone. An archive of `torch.export` has them all.',
  },
  'graph/assumed-calls': {
    title: 'What the exporter merged is costed as most programs compute it',
    explanation:
      'The TorchScript exporter merges equal operators before it writes any. Normalizations that are written out mostly compute the difference from the mean twice: for the variance, and for the result. Backward keeps both. Where a program gives the difference a name and reads it twice, it is one.',
  },
  'graph/complex-products': {
    title: 'Products of complex tensors are several products of real ones in the file',
    explanation:
      'ONNX has no complex tensors. The exporter of PyTorch writes a complex product as products of real parts, and stores the parts of a weight more than once. PyTorch has one product and one weight. An archive of `torch.export` keeps them.',
  },
  'graph/lost-modules': {
    title: 'Modules or parameters of the exported program have no operator in the file',
    explanation:
      'The exporter of PyTorch records all parameters of the program. Its optimizer merges operators that compute the same from equal tensors, as normalizations do before training, and computes beforehand what depends on parameters alone. It takes out products with 1 and sums with 0, such as a learned scale before training. Parameters, time and memory of such modules are missing.',
  },
  'graph/assumed-gradients': {
    title: 'The file does not say whether a network is trained',
    explanation:
      'ONNX has neither `torch.no_grad` nor `requires_grad`. Teachers, momentum encoders and target networks look like trained ones. Calls of `detach` that the exporter recorded are read; the TorchScript exporter records none. Freeze what is not trained, or cost an archive of torch.export, which says it.',
  },
  'graph/unrecorded-calls': {
    title: 'The file does not say what is detached, or called twice',
    explanation:
      'The TorchScript exporter writes neither `detach`, `clone` nor `torch.no_grad`, and merges equal calls. It matters where a file has a loss, or runs one layer several times. Gradients may then pass where the program stops them, and what runs twice on one value is costed once. An archive of torch.export has the program as it is written.',
  },
  'graph/sequence-lengths': {
    title: 'Recurrent layers are given the lengths of their sequences',
    explanation:
      'PyTorch packs such sequences (`pack_padded_sequence`) and computes only the steps that each of them has. The file has the padded tensor; the lengths come with each batch, or are stored in it and differ. All sequences are costed at full length. Cost a length that is usual in your data.',
  },
  'graph/checkpoint': {
    title: 'The exported program checkpoints activations',
    explanation:
      'ONNX has no checkpoints. Stack traces of the operators go through a call of `torch.utils.checkpoint`, so that training keeps less and computes more than the file says. An archive of torch.export has the calls.',
  },
  'graph/custom-backward': {
    title: 'A function of the exported program has a backward of its own',
    explanation:
      'Stack traces of the operators go through `apply` of a `torch.autograd.Function`. The file holds the operators of its forward alone. Backward, and what it keeps, are costed as those of these operators. What the function does instead is not known.',
  },
  'graph/lost-projection': {
    title: 'The exporter left the projection of an LSTM out',
    explanation:
      'An LSTM of PyTorch with `proj_size` multiplies what it gives by a matrix in each step. The operator LSTM of ONNX does not, and the default exporter of PyTorch writes an LSTM of the projected size in its place. Archives of torch.export have the LSTM as it is.',
  },
  'operators/file': {
    title: 'A description of custom operators has a mistake',
    explanation:
      'The file custom-operators.layercost.yaml beside the model describes shapes and work of operators. An operator with a mistake is left out; the others hold.',
  },
  'graph/unknown-operator': {
    title: 'Unknown operator',
    explanation:
      'Its cost and output shapes are unknown, so totals are lower bounds. In a domain of ONNX itself it is an error, because no runtime has the operator.',
  },
  'graph/invalid-operator': {
    title: 'An operator is used in a way its definition does not allow',
    explanation:
      'An attribute or input is missing, superfluous, or has a value or element type that the operator does not accept.',
  },
  'graph/attribute': {
    title: 'An attribute of an operator is wrong',
    explanation:
      'The operator version has no attribute of this name, its value has another type, or a required one is missing. `onnx.checker` refuses the model. The cost assumes the default.',
    leavesOut: true,
  },
  'graph/unsupported-operator': {
    title: 'An operator is known but its cost is not',
    explanation: 'Totals that contain it are lower bounds.',
    leavesOut: true,
  },
  'graph/last-token-logits': {
    title: 'The logits are those of the last token',
    explanation:
      'Models such as nanoGPT compute the logits of the last token alone where they get no labels, as they do to generate text. Training computes those of all tokens, and the head and the loss are a large part of a small model. Export the model with its labels among the inputs.',
  },
  'graph/nothing-costed': {
    title: 'No part of the model could be costed',
    explanation: 'The other messages say why. Most often a symbolic dimension has no value.',
  },
  'shape/mismatch': {
    title: 'Shapes contradict each other',
    explanation: 'An operator cannot be applied to inputs of these shapes.',
  },
  'shape/unknown': {
    title: 'A shape is unknown',
    explanation:
      'It depends on data, or on an unknown shape before it. Totals that contain it are lower bounds.',
  },
  'shape/unbound-dimension': {
    title: 'A symbolic dimension has no value',
    explanation:
      'Costs that depend on it are lower bounds. Set it in the scenario: `Layercost: Set Dimensions` in the editor, `dims` in a layer spec.',
  },
  'spec/syntax': {
    title: 'The layer spec is not valid YAML',
    explanation: 'The text cannot be read as YAML at this place.',
    leavesOut: true,
  },
  'spec/structure': {
    title: 'The layer spec has an unexpected structure',
    explanation: 'A key is missing, unknown, or has the wrong kind of value.',
    leavesOut: true,
  },
  'spec/too-long': {
    title: 'The layer spec has more layers than Layercost costs',
    explanation:
      'More than 10,000 layers, or 40,000 tensors, are a slip in a repetition. Layers beyond are left out, so totals are lower bounds.',
    leavesOut: true,
  },
  'spec/call': {
    title: 'A layer call cannot be read',
    explanation: 'A layer is one call in PyTorch style, such as Linear(768, 3072).',
    leavesOut: true,
  },
  'spec/unknown-layer': {
    title: 'Unknown layer type',
    explanation: 'No built-in layer and no block of this file has this name.',
  },
  'spec/argument': {
    title: 'A layer argument is wrong',
    explanation: 'An argument is missing, unknown, repeated, or has the wrong kind of value.',
    leavesOut: true,
  },
  'spec/unknown-source': {
    title: 'A layer takes its input from a layer that does not exist',
    explanation: 'Sources are layers above, model inputs, or `input` inside a block.',
    leavesOut: true,
  },
  'spec/duplicate-name': {
    title: 'Two layers have the same name',
    explanation: 'Names are unique inside a block and at the top level, so that sources are unambiguous.',
    leavesOut: true,
  },
  'spec/dimension': {
    title: 'A dimension cannot be evaluated',
    explanation: 'Dimensions are integers, names under dims, and arithmetic on them.',
    leavesOut: true,
  },
  'spec/include': {
    title: 'A file cannot be included in a layer spec',
    explanation:
      'Included files are layer specs in the folder of the model or below it. Their blocks are called like blocks of the file itself. A block sees its parameters and the dims of its own file.',
    leavesOut: true,
  },
  'spec/model': {
    title: 'The file holds several models, or not the requested one',
    explanation: 'The first one is used. Choose another with FILE#NAME on the command line.',
  },
  'spec/unused': {
    title: 'A block or dimension is unused',
    explanation: 'It costs nothing. Remove it, or check the name where you meant to use it.',
  },
  'spec/unread-layer': {
    title: 'The output of a layer is unused',
    explanation:
      'No other layer reads its output, and the model does not return it. Forward is computed, but no gradient reaches its weights. Add it to `outputs`, read it, or remove it. A layer reads the one above, unless `from` or its arguments name others.',
  },
  'spec/scenario': {
    title: 'The scenario of the layer spec is wrong',
    explanation:
      'Its keys are those of the command line: cluster, nodes, gpus, batch, precision, optimizer, framework, mode.',
  },
  'caffe/syntax': {
    title: 'The prototxt cannot be read',
    explanation:
      'A prototxt is protobuf text: fields are written `name: value` or `name { fields }`. Reading continues at the next layer.',
    leavesOut: true,
  },
  'caffe/not-a-net': {
    title: 'The prototxt is not a Caffe net',
    explanation:
      'A net is a list of layers. A solver or a label map has the same file extension but no layers. Open the net itself.',
  },
  'caffe/unknown-field': {
    title: 'A Caffe message has no such field',
    explanation:
      'BVLC Caffe and the known forks do not have it. Caffe refuses such a file; Layercost skips the field.',
  },
  'caffe/value': {
    title: 'A field of a Caffe net has a wrong value',
    explanation: 'The value has the wrong type, or the field is repeated.',
    leavesOut: true,
  },
  'caffe/unknown-layer': {
    title: 'Unknown Caffe layer type',
    explanation:
      'BVLC Caffe and the known forks do not have it. Its outputs and cost are unknown, so totals are lower bounds.',
  },
  'caffe/layer': {
    title: 'A Caffe layer is wrong or incomplete',
    explanation:
      'A bottom, a top or a parameter is missing, superfluous, or has a value that Caffe does not accept.',
    leavesOut: true,
  },
  'caffe/unknown-blob': {
    title: 'A Caffe layer reads a blob that no layer above it writes',
    explanation: 'A bottom must be an input of the net, or a top of a layer above in the same phase.',
    leavesOut: true,
  },
  'caffe/data-shape': {
    title: 'The net does not give the shape of its data',
    explanation:
      'A data layer takes the sample size from the database, which is not part of the net. Set it as a dimension of the scenario: `Layercost: Set Dimensions` in the editor.',
  },
  'caffe/host-layer': {
    title: 'A Caffe layer runs on the host',
    explanation:
      'The layer computes on the CPU between kernels, and the GPU waits for it. Its outputs are taken as inputs of the net. The time on the host is not counted.',
  },
  'caffe/unknown-cost': {
    title: 'The cost of a Caffe layer is unknown',
    explanation:
      'Its computation is in another file or depends on the data. Its cost is not counted, so totals are lower bounds.',
  },
  'graph/restored-normalization': {
    title: 'Batch normalization that was folded is costed as trained',
    explanation:
      'Exporters fold batch normalization into the convolution or matmul in front of it. The file is then right for inference only. For a training step its parameters, statistics, kernels and saved activations are put back.',
  },
  'graph/evaluation-export': {
    title: 'The model was exported in evaluation mode, or may have been',
    explanation:
      'In evaluation mode dropout and stochastic depth do nothing, and exporters leave them out. A training step then lacks their time and masks. Heads that only training has, as GoogLeNet and Inception v3 have, are missing with their parameters. Few files show the mode: modules of dropout that do nothing, and batch normalizations do. Batch normalization is costed with the statistics of the batch in any case.',
  },
  'graph/runtime-optimized': {
    title: 'ONNX Runtime has optimized the file for inference',
    explanation:
      'ONNX Runtime saves the graph that it runs. Fused operators and folded normalizations are taken apart again for a training step. Equal weights that were merged, position tables that were cut, and channels that were added for blocks leave no trace. `measured/optimized.jsonl` has the differences. Take the file that was given to ONNX Runtime.',
  },
  'graph/restored-operators': {
    title: 'Operators that were fused for inference are costed as training runs them',
    explanation:
      'ONNX Runtime and onnxscript put operators together for inference: a convolution with its activation, a normalization with the sum before it, attention with its projections. Training runs the operators that they were made of, so a training step is costed with those. In inference the file is costed as it is.',
  },
  'graph/fake-quantization': {
    title: 'Rounding is costed in training as fake quantization',
    explanation:
      'Quantization-aware training rounds numbers in floating point and hands their gradients straight through. Exporters write this as QuantizeLinear and DequantizeLinear, and quantizers add the same pairs to a trained model. A training step is costed with one kernel for each pair, and with gradients. In inference the pairs are costed as they are.',
  },
  'graph/restored-bias': {
    title: 'Biases that the exporter left out are costed as trained',
    explanation:
      'PyTorch’s exporter removes biases that are all 0, as they are before training. The file lists the parameters of the model, so a training step is costed with them.',
  },
  'graph/restored-padding': {
    title: 'Padding that the exporter put into convolutions is costed as the program has it',
    explanation:
      'Causal convolutions and those with TensorFlow’s padding call `F.pad` first. Training copies the tensor and keeps the padded copy for backward. The optimizer of PyTorch’s exporter takes the padding into the convolution and leaves the name of its rule.',
  },
  'graph/fused-operators': {
    title: 'The exporter fused operators that the model writes out',
    explanation:
      'PyTorch’s exporter replaces operators by one, such as RMSNormalization from opset 23. It is costed as one kernel, which is faster and keeps less than several. Models of transformers run several unless they use fused kernels.',
  },
  'graph/folded-normalization': {
    title: 'Batch normalization was folded and could not be restored',
    explanation:
      'Exporters fold batch normalization into the convolution or matmul in front of it. Training costs leave it out. Export the model without optimization.',
  },
  'scenario/unknown-cluster': {
    title: 'Unknown cluster',
    explanation: '`layercost clusters` lists the built-in profiles.',
  },
  'scenario/invalid': {
    title: 'A scenario option has a wrong value',
    explanation: 'The message names the option and the values it takes.',
  },
  'scenario/out-of-range': {
    title: 'A dimension is larger than the model allows',
    explanation:
      'An archive of `torch.export` says for which sizes the program holds. A model that checks its length against a longest one, such as a table of positions, fails at a longer one.',
  },
  'scenario/fixed-batch': {
    title: 'The model fixes its batch size',
    explanation:
      'The file was exported with a constant batch, so the requested batch cannot be applied. Export it with a dynamic batch.',
  },
  'scenario/no-blocks': {
    title: 'No blocks to checkpoint',
    explanation:
      'Checkpointing keeps the inputs of repeated blocks. Repeated blocks are numbered modules, such as `layers.0` and `layers.1`, whose weights have the same shapes. The model has none, or its file does not name its modules.',
  },
  'scenario/overridden-marks': {
    title: 'The scenario replaces marks of the model',
    explanation:
      'Layers of the spec are marked `recompute`, and the scenario sets `checkpoint`. The scenario wins: `none` keeps all activations, the other values decide for repeated blocks.',
  },
  'scenario/no-effect': {
    title: 'An option has no effect',
    explanation:
      'The step costs the same with and without the option. The message says what would have to change for it to matter, where that was found by costing.',
  },
  'scenario/opened-batch': {
    title: 'The fixed batch of the model was replaced',
    explanation:
      'The file was exported with a constant batch. Costs for another batch replace the leading dimension of the inputs. The result was checked to be the same model.',
  },
  'scenario/no-cache': {
    title: 'The model has no decode step',
    explanation:
      'A decode step computes one new token for each sequence and reads keys and values of earlier tokens from a cache. That needs attention with a causal mask, and an open length of the sequence. The message says which of both is missing; leave out `past` for a pass over whole sequences.',
    causes: ['past'],
  },
  'scenario/assumed-host-memory': {
    title: 'It is assumed how fast the memory of the host is',
    explanation:
      'An optimizer that runs on the host reads and writes all of its state there. Its time is bytes over the bandwidth of host memory, which the GPUs of a node share. The profile of the cluster does not say it, so it is taken from what hosts of GPUs have. The range of the step covers slow and fast ones; give `host.memoryBandwidthGBs` in a profile.',
  },
  'scenario/assumed-attention': {
    title: 'It is assumed that attention is one kernel',
    explanation:
      'Exporters and models scale attention differently, which shows whether it was one call of `scaled_dot_product_attention` or written out. Attention without a scale shows neither. It is costed as one fused kernel, which stores no scores; set the framework option `attention=eager` if the model is trained with several kernels.',
  },
  'scenario/shared-heads': {
    title: 'Attention with shared heads has no fused kernel here',
    explanation:
      'With `enable_gqa=True` several heads of queries share one of keys and values. FlashAttention and the kernels of cuDNN take that in half precision. The memory-efficient kernel does not. In fp32, on Volta and Turing, and with a mask before Hopper, PyTorch then computes step by step. It repeats keys and values, and stores all scores. One fused kernel is costed instead, so time and memory are too low.',
  },
  'scenario/dense-gradient': {
    title: 'A sparse gradient is costed as dense',
    explanation:
      'Gradient, messages and update are those of the whole table, because no source was read for what this framework does with sparse gradients.',
  },
  'scenario/gloo': {
    title: 'Sparse gradients make DistributedDataParallel use gloo',
    explanation:
      'DistributedDataParallel all-reduces sparse gradients, which NCCL refuses and gloo takes. A process group has one backend for a device, so that all gradients go through host memory. Gloo is costed as Open MPI. Horovod gathers the rows by NCCL, and sharded tables send lookups.',
  },
  'scenario/assumed-lookups': {
    title: 'It is assumed that embedding rows are looked up evenly',
    explanation:
      'A sparse gradient has a row for every lookup, and the update passes over the different rows among them. Of V rows, n even lookups meet V(1 − (1 − 1/V)ⁿ). Data of people looks up some rows often, so that fewer are different: the bounds are one row and the smaller of V and n.',
  },
  'scenario/assumed-routing': {
    title: 'It is assumed that experts are chosen equally often',
    explanation:
      'A mixture of experts that is exported as a loop looks up the tokens of each expert. How many there are is known only when the model runs. Each of n experts is costed with tokens × k ÷ n, where the router chooses k experts for each token. Every expert is taken to be hit. The FLOPs of all experts together are the same for any routing that drops no token. Times of single experts and memory depend on the routing.',
  },
  'scenario/assumed-maximum': {
    title: 'It is assumed that maxima along an axis keep positions',
    explanation:
      'For backward, `max(dim)` of PyTorch keeps where each maximum is, in eight bytes. `amax(dim)` keeps what comes in and the result. The TorchScript exporter writes both as ReduceMax. The first is costed. Exports of the default exporter record the call.',
  },
  'scenario/assumed-in-place': {
    title: 'It is assumed that activations are not computed in place',
    explanation:
      'LeakyReLU, ELU, SELU and CELU keep their input for backward, or their result with `inplace=True`. An exported graph does not show which. The result is often kept anyway, so `inplace=True` then saves the memory of one tensor per activation. Set the framework option `in-place=true` if the model has it.',
  },
  'scenario/added-loss': {
    title: 'A loss is added to the model',
    explanation:
      'The model ends in the logits of tokens, and a training step needs a loss behind them. Cross-entropy is costed as the last layer. It keeps log-probabilities in fp32, one per token and entry of the vocabulary. Their gradient takes as much again. Set `loss` to `none` where the model is trained otherwise, or write the loss into the model.',
  },
  'scenario/added-adapters': {
    title: 'Adapters are added to the model',
    explanation:
      'LoRA trains two narrow matrices beside each linear layer, instead of its weight. The model has none, so they are added where `lora` asks for them. They are costed in the layer that they stand beside. All else is frozen; `freeze` says otherwise, such as `*, !classifier`. With `base=nf4` frozen linear layers are kept in 4 bits, as QLoRA keeps them. Each is made whole where it is read, in forward and in backward.',
  },
  'scenario/measured-step': {
    title: 'A measured step is taken as one pass of one GPU',
    explanation:
      'The measured time replaces what is predicted of one GPU by itself: forward, backward and the update. Communication and further passes of gradient accumulation are added to it. A time shorter than the matrix multiplications take at the peak of the GPU is a mistake, such as milliseconds given as seconds.',
  },
  'scenario/default-batch': {
    title: 'The batch has no value',
    explanation: 'The model leaves the batch open and no value was given. Costs assume one sample per GPU.',
  },
  'scenario/defaults': {
    title: 'Parts of the scenario are defaults',
    explanation: 'Costs are for a cluster and a precision that nobody chose. Set yours to get your numbers.',
  },
  'scenario/price': {
    title: 'The price may not be what you pay',
    explanation:
      'The price is old, or none is known. Give yours as `price=N` in `run`, in US dollars per GPU-hour, or keep a newer table (docs/prices.md).',
  },
  'framework/syntax': {
    title: 'The description of the framework is not valid YAML',
    explanation: 'The text cannot be read as YAML or JSON at this place.',
  },
  'framework/structure': {
    title: 'The description of the framework has an unexpected structure',
    explanation:
      'A key is missing, unknown, of the wrong type, or contradicts another key. `docs/frameworks.md` shows an example with all keys.',
  },
  'framework/file': {
    title: 'The file that describes the framework cannot be read',
    explanation:
      'A layer spec can name a file below its own folder, such as `framework: ./mine.yaml`. The command line accepts any path.',
  },
  'check/syntax': {
    title: 'The file of checks is not valid YAML',
    explanation: 'The text cannot be read as YAML at this place.',
  },
  'check/structure': {
    title: 'The file of checks has an unexpected structure',
    explanation:
      'A key is missing or unknown, or a limit cannot be read. Nothing is checked then. `docs/check.md` shows an example with all keys.',
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
    title: 'Unknown framework',
    explanation: 'The message lists the built-in frameworks.',
  },
  'measurement/trace': {
    title: 'A layer trace cannot be used as it is',
    explanation:
      'A trace has a header with the columns layer, forward_ms and backward_ms (or _s, _us, _ns). It has one row per layer, with the layer names of the report.',
  },
  'findings/out-of-memory': {
    title: 'The step does not fit in GPU memory',
    explanation: 'Peak memory exceeds GPU memory. The message gives the largest batch that fits.',
    causes: ['batch', 'cluster'],
  },
  'findings/little-memory-left': {
    title: 'The step fits in GPU memory with little to spare',
    explanation:
      'The tensors fit, but the caching allocator reserves more than they need. The driver and kernels need memory too. The message gives both.',
    causes: ['batch', 'cluster'],
  },
  'findings/exposed-communication': {
    title: 'Gradient communication is exposed',
    explanation: 'Backward computation is too short to hide the all-reduce of this layer.',
    causes: ['gpus', 'cluster'],
  },
  'findings/late-gradient': {
    title: 'One very large gradient is ready only when backward ends',
    explanation:
      'It is a large fraction of all gradient bytes. No computation follows that could hide its message.',
  },
  'findings/small-messages': {
    title: 'Communication is bound by the start-up cost of small messages',
    explanation:
      'Every message has a start-up cost, whatever its size. Merge gradients or use larger buckets to send fewer messages.',
    causes: ['framework', 'batch'],
  },
  'findings/server-saturated': {
    title: 'A parameter server limits the step',
    explanation: 'It spends nearly the whole step serving the workers. More workers only wait longer.',
    causes: ['framework', 'gpus'],
  },
  'findings/serial-rank': {
    title: 'Every worker waits for the first one',
    explanation: 'Rank 0 exchanges a message with each other worker in turn, in every step.',
    causes: ['framework'],
  },
  'findings/slow-network': {
    title: 'The network between nodes is slower than the model needs',
    explanation: 'At the bandwidth of a node, backward is too short to hide the gradient communication.',
    causes: ['cluster'],
  },
  'findings/oversubscribed-network': {
    title: 'The job spans more nodes than one switch holds',
    explanation:
      'The uplinks of an oversubscribed fabric carry less than the ports of a switch. Traffic between switches is slower.',
    causes: ['cluster', 'gpus'],
  },
  'findings/buffers-out-of-memory': {
    title: 'Communication buffers do not fit',
    explanation: 'The step would fit without the gradient copies in communication buffers.',
    causes: ['framework', 'batch', 'cluster'],
  },
  'findings/low-efficiency': {
    title: 'Scaling efficiency is low',
    explanation:
      'Weak scaling efficiency is the step time on one GPU ÷ the step time on all GPUs, with the same batch per GPU. Sharded training is compared with one GPU that updates only its shard. The message gives the number of GPUs up to which it holds.',
    causes: ['gpus', 'cluster', 'framework'],
  },
  'findings/slower-than-fewer': {
    title: 'The job is slower than on fewer GPUs',
    explanation: 'Each added GPU costs more in waiting than it saves in compute.',
    causes: ['gpus', 'cluster'],
  },
  'findings/input-bound': {
    title: 'GPUs wait for samples',
    explanation: 'Reading or decoding a batch takes longer than the step that uses it.',
    causes: ['input', 'batch'],
  },
  'findings/copy-bound': {
    title: 'GPUs wait for samples to be copied to them',
    explanation: 'The link from host to GPU delivers samples more slowly than the GPU processes them.',
    causes: ['input', 'batch'],
  },
  'findings/load-imbalance': {
    title: 'Workers wait for the slowest',
    explanation:
      'A synchronous step takes as long as its slowest worker, or the worker with the most samples.',
    causes: ['workers', 'globalBatch', 'gpus'],
  },
  'findings/slow-start': {
    title: 'Much of the run is spent before its first step',
    explanation:
      'Start-up and reading the data set take a large fraction of the run. More workers do not shorten it.',
    causes: ['run', 'input'],
  },
  'findings/launch-bound': {
    title: 'The step is bound by kernel launches',
    explanation:
      'The kernels are so short that the host cannot launch them fast enough. Raise the batch or compile the model.',
    causes: ['batch', 'cluster'],
  },
  'findings/pipeline-bubble': {
    title: 'Pipeline stages wait for each other',
    explanation:
      'At the beginning and the end of a step, and where stages are uneven, stages have nothing to compute. Use more micro-batches, or fewer stages.',
    causes: ['parallel', 'globalBatch'],
  },
  'findings/uneven-stages': {
    title: 'Pipeline stages wait for the longest one',
    explanation:
      'One stage takes longer than the others, which wait for it in every micro-batch. Cut into stages of like time, or give that stage fewer blocks.',
    causes: ['parallel'],
  },
  'findings/sharded-pipeline': {
    title: 'A pipeline exchanges shards in every micro-batch',
    explanation:
      'Copies of a stage share gradients or weights, and exchange them in every micro-batch instead of once in a step. Share the optimizer state alone.',
    causes: ['parallel', 'framework'],
  },
  'findings/tensor-communication': {
    title: 'Tensor parallelism waits for its collectives',
    explanation:
      'The GPUs of a group exchange activations in every layer, and nothing computes meanwhile. Keep a group inside a node, or make it smaller.',
    causes: ['parallel', 'cluster'],
  },
  'findings/context-communication': {
    title: 'Context parallelism waits for other positions',
    explanation:
      'Attention needs keys and values of all positions, and computes too little to hide their way. Use fewer GPUs for a sequence, longer sequences, or another exchange.',
    causes: ['parallel', 'cluster'],
  },
  'findings/expert-communication': {
    title: 'Expert parallelism waits for its all-to-alls',
    explanation:
      'Tokens go to the GPUs of their experts and back in every mixture, and nothing computes meanwhile. Keep a group inside a node, or make it smaller.',
    causes: ['parallel', 'cluster'],
  },
  'findings/replicated-heads': {
    title: 'Several GPUs of a group compute with the same heads of keys and values',
    explanation:
      'A group of tensor parallelism has more GPUs than the model has heads of keys and values. Each of these is on several GPUs, and queries, keys and values are gathered before attention. Use a smaller group.',
    causes: ['parallel'],
  },
  'findings/unsplit-layers': {
    title: 'GPUs of a group compute layers whole',
    explanation:
      'Heads, classes, channels or positions do not divide by the degree, so each GPU of a group computes the layer whole. Choose a degree that divides them, or pad them.',
    causes: ['parallel'],
  },
  'findings/trained-adapters': {
    title: 'Low-rank adapters and the weights beside them are trained',
    explanation: 'A LoRA fine-tune freezes all but the adapters. The file does not say so; `freeze` does.',
  },
  'findings/uncast-products': {
    title: 'Products of experts run in fp32',
    explanation:
      'No list of autocast names the grouped matmul of PyTorch. It runs in the type of its weights, which autocast leaves in fp32. Keep weights in half precision.',
    causes: ['precision', 'framework'],
  },
  'findings/unsupported-precision': {
    title: 'The GPU has no fast path for this precision',
    explanation: 'On this GPU the precision runs at the rate of a wider one, or not at all.',
    causes: ['precision', 'cluster'],
  },
} as const satisfies Readonly<Record<string, CodeEntry>>;

export type IssueCode = keyof typeof issueCodes;

/** Names of findings, without `findings/`. */
export const findingCodes: readonly string[] = Object.keys(issueCodes).flatMap((code) =>
  code.startsWith('findings/') ? [code.slice('findings/'.length)] : [],
);

/** Whether an error of this code leaves a part of the model out of the graph. */
export const leavesOut = (code: IssueCode): boolean => (issueCodes[code] as CodeEntry).leavesOut === true;

/** What of a scenario causes findings of this code; nothing where they are about a layer. */
export const causesOf = (code: IssueCode): readonly ScenarioCause[] =>
  (issueCodes[code] as CodeEntry).causes ?? [];
