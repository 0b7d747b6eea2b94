/**
 * Colours of VS Code 1.100's own themes, as it hands them to a page: `extensions/theme-defaults/themes`, and the defaults
 * of the colour registry (`charts.orange` is that of `minimap.findMatchHighlight`).
 */

const order = ['red', 'blue', 'yellow', 'orange', 'green', 'purple'];

interface Theme {
  readonly ground: string;
  readonly text: string;
  readonly quiet: string;
  /** In `order`. */
  readonly charts: string;
  readonly cyan: string;
  readonly border?: string;
}

const variablesOf = ({ ground, text, quiet, charts, cyan, border }: Theme) => ({
  'editor-background': ground,
  foreground: text,
  descriptionForeground: quiet,
  ...Object.fromEntries(charts.split(' ').map((colour, index) => [`charts-${order[index]}`, colour])),
  'terminal-ansiCyan': cyan,
  ...(border === undefined ? {} : { contrastBorder: border }),
});

/** Names of variables without `--vscode-`. */
export const themeColours: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  light: variablesOf({
    ground: '#ffffff',
    text: '#3b3b3b',
    quiet: '#3b3b3b',
    charts: '#e51400 #1a85ff #bf8803 #d18616 #388a34 #652d90',
    cyan: '#0598bc',
  }),
  dark: variablesOf({
    ground: '#1f1f1f',
    text: '#cccccc',
    quiet: '#9d9d9d',
    charts: '#f14c4c #3794ff #cca700 #d18616 #89d185 #b180d7',
    cyan: '#11a8cd',
  }),
  'high contrast': variablesOf({
    ground: '#000000',
    text: '#ffffff',
    quiet: '#ffffffb3',
    charts: '#f48771 #3794ff #ffd370 #ab5a00 #89d185 #b180d7',
    cyan: '#00cdcd',
    border: '#6fc3df',
  }),
  'high contrast light': variablesOf({
    ground: '#ffffff',
    text: '#292929',
    quiet: '#292929b3',
    charts: '#b5200d #1a85ff #895503 #0f4a85 #374e06 #652d90',
    cyan: '#0598bc',
    border: '#0f4a85',
  }),
};
