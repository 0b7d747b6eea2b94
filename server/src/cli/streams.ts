/** Data goes to standard output, everything else to standard error. A reader that closed the pipe ends us quietly. */

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

export const printData = (text: string): void => {
  process.stdout.write(text);
};

export const printMessage = (line: string): void => {
  process.stderr.write(`${line}\n`);
};
