/** What people do today to know the shapes of a model: a Python process with the `onnx` package. */

import { execFileSync } from 'node:child_process';

const python = process.env.PYTHON ?? 'python3';

/** Version of the `onnx` package, where Python has it. */
export function onnxVersion(): string | undefined {
  try {
    return execFileSync(python, ['-c', 'import onnx; print(onnx.__version__)'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
}

/** Loads a model, weights of other files left out, and infers its shapes, as a whole process. */
export function inferShapesInPython(file: string): void {
  const program =
    'import sys, onnx; onnx.shape_inference.infer_shapes(onnx.load(sys.argv[1], load_external_data=False))';
  execFileSync(python, ['-c', program, file], { stdio: 'ignore' });
}
