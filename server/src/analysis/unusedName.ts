/** `name`, or with a number behind it where that is taken. */
export function unusedName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  let count = 2;
  while (taken.has(`${name}#${count}`)) count += 1;
  return `${name}#${count}`;
}
