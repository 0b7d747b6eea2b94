/** Everything an agent can ask Layercost. A new tool is one file, and one entry here. */

import { clustersTool } from './clustersTool.ts';
import { compareTool } from './compareTool.ts';
import { estimateTool } from './estimateTool.ts';
import { explainTool } from './explainTool.ts';
import { fixTool } from './fixTool.ts';
import { planTool } from './planTool.ts';
import { scaleTool } from './scaleTool.ts';
import type { Tool } from './tool.ts';

export const tools: readonly Tool[] = [
  estimateTool,
  compareTool,
  scaleTool,
  planTool,
  fixTool,
  explainTool,
  clustersTool,
];
