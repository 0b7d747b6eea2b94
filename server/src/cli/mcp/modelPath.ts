/** The model that a tool is asked about. */

import { z } from 'zod';

export const modelPath = z
  .string()
  .min(1)
  .describe(
    'Path of an ONNX model, an archive of torch.export (.pt2), a layer spec (.layers.yaml), a Caffe net (.prototxt) or the config.json of a Hugging Face model; FILE#NAME is one of several models of a layer spec',
  );
