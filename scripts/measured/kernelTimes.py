"""Times kernels on the GPU at hand and writes rows for measured/products.csv, convolutions.csv and rows.csv.

    python scripts/measured/kernelTimes.py GPU FOLDER     (torch; GPU as in server/src/hardware/profiles/gpus)

Operands are random and change from call to call, so that none is left in the L2 cache; calls are queued behind a sleep,
so that the host does not show. Convolutions are channels-last, by the algorithm cuDNN measures to be the fastest.
"""

import random
import sys

import torch

gpu, folder = sys.argv[1:]
types = {"fp32": torch.float, "tf32": torch.float, "fp16": torch.half, "bf16": torch.bfloat16}
torch.backends.cudnn.benchmark = True
draw = random.Random(5)


def use(kind):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = kind == "tf32"


def time(call, make):
    first = make()
    size = sum(t.numel() * t.element_size() for t in first)
    sets = [first] + [make() for _ in range(min(15, int(2e8 / size)))]
    call(*first)
    best = []
    for _ in range(3):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(1_000_000)
        start.record()
        for index in range(16):
            call(*sets[index % len(sets)])
        end.record()
        end.synchronize()
        best.append(start.elapsed_time(end) * 1000 / 16)
    return f"{sorted(best)[1]:.4g}"


def rows(name, columns, lines):
    with open(f"{folder}/{name}.csv", "w") as file:
        print(f"source,gpu,type,{columns},microseconds", file=file)
        for line in lines:
            print("layercost", gpu, *line, sep=",", file=file, flush=True)


def products():
    sizes = [64, 128, 192, 256, 512, 768, 1024, 1536, 2048, 3072, 4096, 5120, 8192, 12288, 16384, 32768]
    shapes = set()
    while len(shapes) < 240:
        batch = draw.choice([1, 1, 1, 12, 64])
        m, n, k = (draw.choice(sizes) for _ in range(3))
        if 1e8 < batch * m * n * k < 1e12 and batch * (m * k + n * k + m * n) < 1e9:
            shapes.add((batch, m, n, k))
    for index, (batch, *shape) in enumerate(sorted(shapes)):
        odd = [(shape[0], shape[1] - less, shape[2]) for less in (1, 2, 4)]
        odd += [(shape[0], shape[1], shape[2] - less) for less in (1, 2, 4)]
        for m, n, k in [shape, *(odd if index % 3 == 0 else [])]:
            for kind in types if (m, n, k) == tuple(shape) else ["tf32", "fp16"]:
                use(kind)
                make = lambda: [torch.randn(batch, *s, device="cuda", dtype=types[kind]) for s in ((m, k), (k, n))]
                yield kind, batch, m, n, k, time(torch.matmul if batch > 1 else lambda a, b: a[0] @ b[0], make)


def convolutions():
    shapes = set()
    while len(shapes) < 130:
        side, kernel = draw.choice([7, 8, 14, 16, 28, 32, 56, 64, 112]), draw.choice([1, 1, 3, 3, 3, 5])
        images, stride = draw.choice([8, 16, 32, 64, 128]), draw.choice([1, 1, 1, 2])
        channels, filters = (draw.choice([32, 64, 96, 128, 256, 384, 512, 1024, 2048]) for _ in range(2))
        work = images * side**2 * channels * filters * kernel**2 / stride**2
        if 1e9 < work < 3e11 and images * side**2 * (channels + filters) < 4e8:
            shapes.add((images, channels, side, filters, kernel, stride))
    for images, channels, side, filters, kernel, stride in sorted(shapes):
        for kind in ["fp16", "tf32", "fp32"]:
            use(kind)
            pad = kernel // 2
            outputs = (side + 2 * pad - kernel) // stride + 1
            tensor = lambda *s: torch.randn(*s, device="cuda", dtype=types[kind]).to(memory_format=torch.channels_last)
            make = lambda: [
                tensor(images, channels, side, side),
                tensor(filters, channels, kernel, kernel),
                tensor(images, filters, outputs, outputs),
            ]
            at = ([stride] * 2, [pad] * 2, [1] * 2, False, [0] * 2, 1)
            back = lambda mask: lambda x, w, y: torch.ops.aten.convolution_backward(y, x, w, None, *at, mask)
            calls = {
                "forward": lambda x, w, y: torch.ops.aten.convolution(x, w, None, *at),
                "data": back([True, False, False]),
                "weight": back([False, True, False]),
            }
            for name, call in calls.items():
                sizes = (images, channels, side, side, filters, kernel, kernel, stride, stride, pad, pad)
                yield kind, name, *sizes, time(call, make)


def memory_bound():
    functional = torch.nn.functional
    calls = {
        "add": (2, torch.add),
        "mul": (2, torch.mul),
        "relu": (1, torch.relu),
        "gelu": (1, functional.gelu),
        "addu": (1, lambda x: x + 1),
        "softmax": (1, lambda x: torch.softmax(x, -1)),
        "layer-norm": (1, lambda x: functional.layer_norm(x, x.shape[-1:])),
    }
    for name, (count, call) in calls.items():
        for columns in [512, 1024, 2048, 4096, 8192, 16384]:
            for entries in [2**23, 2**24, 2**25, 2**26, 2**27, 2**28]:
                for kind in ["fp32", "fp16"]:
                    size = (entries // columns, columns)
                    make = lambda: [torch.randn(size, device="cuda", dtype=types[kind]) for _ in range(count)]
                    yield kind, name, *size, time(call, make)


rows("rows", "operation,rows,columns", memory_bound())
rows("products", "batch,m,n,k", products())
plane = "images,channels,height,width,filters,kernel_h,kernel_w,stride_h,stride_w,pad_h,pad_w"
rows("convolutions", f"pass,{plane}", convolutions())
