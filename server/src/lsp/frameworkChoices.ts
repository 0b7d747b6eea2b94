/** The built-in frameworks, described for a picker. */

import { frameworks } from '../frameworks/registry.ts';
import type { FrameworkChoiceItem } from '../protocol.ts';

export const frameworkChoices = (): readonly FrameworkChoiceItem[] =>
  frameworks.map(({ name, documentation, overlaps }) => ({ name, documentation, overlaps }));
