/** What `layercost --help` prints. */

export const help = `layercost: cost of a training step of a neural network on a GPU cluster, layer by layer

usage
  layercost report FILE [scenario] [--output PATH] [--width N] [--top N] [--summary]
                   [--format table|json|markdown|csv|html|svg|trace] [--chart NAME]
  layercost scale FILE [scenario] [--gpus 1,2,4,8]     step, throughput, efficiency, memory by GPU count
                   [--format table|json|markdown|csv|html] [--output PATH]; one curve for each value of a list:
                                                       --cluster dgx-a100,dgx-h100 --framework pytorch-ddp,horovod
  layercost plan FILE --gpus N --global-batch N        the best degrees of parallelism, micro-batch, checkpointing; --gpus
                   [scenario] [--top N]                8,16,32 for the fewest that fit (docs/parallel.md)
                   [--goal fastest|cheapest|fewest] [--deadline HOURS] [--format table|json] [--output PATH]
  layercost compare A B [scenario]                     two models, or one model in two scenarios:
                   FILE --left "OPTIONS" --right "OPTIONS"
                   FILE --base REF                     the file now and in a git revision
                   [--format table|json|html] [--output PATH]
  layercost sweep FILE [scenario]                      one row per combination of lists: --batch 1,2,4,8
                   [--format table|json|csv]           --checkpoint none,selective,block --dim seq=1024,2048
  layercost check [layercost.yaml] [--base REF]         budgets of models, also against a git revision (docs/check.md)
                   [--format table|json|sarif|junit|github|markdown] [--output PATH]
                   [--baseline FILE] [--write-baseline FILE]
  layercost clusters [NAME] [--format table|json]      built-in clusters and GPUs, with sources
  layercost prices [CLUSTER] [--format table|json]     what machines of clouds cost, with day and source; --update FILE
                   [--update FILE] [--date DAY]        takes a newer table (docs/prices.md)
  layercost benchmark FILE [scenario] [--device auto|cuda|cuda:N|mps|xpu|cpu] [--python PATH]
                   [--caches cold|hot] [--keep FILE.py] [--format table|json]
                   [--trace FILE.json.gz]              kernels by layer under torch.profiler, and a trace for Perfetto
                   [--ranks N]                         N processes share the step, one a GPU, by torchrun
                   [--nodes M --rendezvous HOST:PORT]  N on each of M machines, all of which the launcher reaches
                   [--launcher "ssh gpu-box"]          what reaches Python on the machine with the GPU
  layercost collectives --ranks N [--device cuda|cpu]  all-reduce, all-gather, reduce-scatter and all-to-all by
                   [--python PATH] [--launcher WORDS]  size, over N GPUs of one machine
                   [--format table|json]
  layercost results [FILE [scenario]]                  kept benchmark results; FILE: which are of it as it is now
                   [--compare A,B] [--remove A] [--format table|json]
  layercost calibrate [FOLDER] [--device KIND]         fits kernel times of this machine to kept benchmark results and
                   [--results A,B] [--output FILE]      writes a profile for --cluster (docs/benchmark.md)
  layercost convert FILE [--to onnx|onnx-text|layer-spec] [--output PATH] [--force]
                   [--weights zeros|external|elided] [--dim NAME=VALUE]
  layercost export TARGET [--output FILE.pt2]          a PyTorch model as a file, without weights: train.py:Net,
                   [--input NAME=TYPE[SIZES]]...       package.module:make, hf:ID, timm:NAME, torchvision:NAME
                   [--python PATH]                     (docs/export.md)
  layercost lsp --stdio                                the language server, for any editor
  layercost mcp                                        tools for agents, by the Model Context Protocol (docs/agents.md)

scenario
  --cluster NAME|FILE     built-in cluster or GPU (layercost clusters), or a profile in a JSON file
  --gpus N  --nodes N     total GPUs; nodes that hold them
  --batch N               samples per GPU and pass; --global-batch N  over all GPUs and passes
  --accumulate N          gradient accumulation: passes per step
  --dim NAME=VALUE        value of a symbolic dimension; repeatable
  --precision NAME        fp32, tf32, fp16, bf16, fp8 (fp16 and bf16: mixed precision)
                          default: the half precision of the GPU with PyTorch, else fp32
  --optimizer NAME        sgd, momentum, adam, adamw, none
  --framework NAME|FILE[,option=value]   such as pytorch-ddp,bucket-mb=50; FILE: your own, described in YAML
  --mode NAME             training, inference
  --past N                in inference: a decode step with N tokens in the cache (docs/inference.md)
  --checkpoint NAME       what repeated blocks keep for backward: none (keep all), block (inputs only),
                          selective (matmuls and attention too), alternate (every second matmul)
  --parallel tp=N,cp=N,ep=N,pp=N,vp=N,sp,cp-comm=ring|all-gather|all-to-all,micro-batch=N,schedule=…,stages=…
                          GPUs that share a copy of the model: tensor and context parallelism, pipeline
                          stages, with sp sequence parallelism; others share the batch, with ep the experts
                          of a mixture (docs/parallel.md)
  --loss NAME             the loss of a model that has none: auto (cross-entropy behind logits of tokens),
                          cross-entropy (behind the last output that has classes), none
  --freeze PATTERN        parameters or modules that are not trained, such as 'encoder.*'; with ! in front, that
                          are; repeatable, the last match decides
  --threshold NAME=FRACTION  report a finding above this fraction; repeatable (docs/issues.md)
  --input sample-bytes=N,decode-rate=N,source=local|shared,read-gbs=N
                          input pipeline: size of a sample, samples per second and core
  --workers imbalance=N,spread=N,straggler=N,other-gpu=NAME,other-count=N
                          worker variation: imbalance (slowest ÷ mean), spread (σ ÷ mean), one straggler, mixed GPUs
  --run samples=N,epochs=N,start-seconds=N,price=N|KIND
                          time and cost of a whole run; KIND: on-demand (default), spot, reserved-1y, reserved-3y
  --measured-step SECONDS, --layer-trace FILE.csv      use measured times instead of predictions

FILE is an ONNX model (binary, ONNX text, protobuf text or JSON; also gzip-compressed),
a layer spec (*.layers.yaml), or a Caffe net (*.prototxt). The content decides, not the name.
Exit status: 0 success, 1 the file could not be costed, 2 wrong arguments, 3 a budget of check is broken.
`;
