/** Whether `text` is what `pattern` says, where `*` stands for any characters and `?` for one. Linear in both, nearly always. */
export function matchesGlob(pattern: string, text: string): boolean {
  let at = 0;
  let place = 0;
  let star = -1;
  let resume = 0;
  while (place < text.length) {
    if (pattern[at] === '*') {
      star = at;
      resume = place;
      at += 1;
    } else if (at < pattern.length && (pattern[at] === '?' || pattern[at] === text[place])) {
      at += 1;
      place += 1;
    } else if (star >= 0) {
      at = star + 1;
      resume += 1;
      place = resume;
    } else return false;
  }
  return /^\**$/.test(pattern.slice(at));
}
