/**
 * Serves tools by the Model Context Protocol on standard input and output. A bundle of its own (`dist/mcp.js`): the
 * library is for this command alone, and the start of the others is what a person waits for.
 */

import { McpServer, type Transport } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Tool } from './tool.ts';

/** Serves until the client closes: standard input and output, or another transport. */
export function serveTools(tools: readonly Tool[], version: string, transport?: Transport): void {
  serveStdio(
    () => {
      const server = new McpServer({ name: 'layercost', title: 'Layercost', version }, { instructions });
      for (const { name, title, description, input, answer } of tools) {
        server.registerTool(
          name,
          {
            title,
            description,
            inputSchema: input,
            annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
          },
          async (given: unknown) => {
            const { text, isWrong } = await answer(given);
            return { content: [{ type: 'text', text }], ...(isWrong ? { isError: true } : {}) };
          },
        );
      }
      return server;
    },
    {
      onerror: (error) => console.error(`layercost mcp: ${error.message}`),
      ...(transport === undefined ? {} : { transport }),
    },
  );
}

const instructions =
  'Layercost predicts what a training step of a neural network costs on a GPU cluster, layer by layer, without a GPU. Begin with estimate. Use scale before choosing a number of GPUs, compare before choosing a cluster or framework, and fix when an estimate has findings. Give ranges and lower bounds (≥) as they are.';
