/** The scenarios in code-server: the extension host is the desktop's, the server a process of its own. */

import { launchCodeServer } from './harness/host.ts';
import { testIn } from './harness/testIn.ts';
import { onnxScenarios } from './onnxScenarios.ts';
import { benchmarkScenarios, scenarios } from './scenarios.ts';

testIn(launchCodeServer, [...scenarios, ...onnxScenarios, ...benchmarkScenarios]);
