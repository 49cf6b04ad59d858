/** Splits the arguments at `--kubectl`: all that follow belong to kubectl. */
export function splitKubectl(args: readonly string[]) {
  const at = args.indexOf('--kubectl');
  return at === -1 ? { own: args, kubectl: undefined } : { own: args.slice(0, at), kubectl: args.slice(at + 1) };
}

/** Splits a text into words as a shell does: at spaces, but not within single or double quotes. */
export function wordsOf(text: string): readonly string[] {
  const words = text.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g);
  return [...words].map(([word]) => word.replaceAll(/'([^']*)'|"([^"]*)"/g, (_, single, double) => single ?? double));
}
