/** The scenarios in VS Code for the Web: the extension host and the server are web workers. */

import { launchWeb } from './harness/host.ts';
import { testIn } from './harness/testIn.ts';
import { onnxScenarios } from './onnxScenarios.ts';
import { blockedReport, refusedExport, refusedRevision, scenarios } from './scenarios.ts';

testIn(launchWeb, [...scenarios, ...onnxScenarios, blockedReport, refusedRevision, refusedExport]);
