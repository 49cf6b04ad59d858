/** All arguments after `--kubectl` belong to kubectl. */
export function splitKubectl(args: readonly string[]) {
  const at = args.indexOf('--kubectl');
  return at === -1 ? { own: args, kubectl: undefined } : { own: args.slice(0, at), kubectl: args.slice(at + 1) };
}

/** A text as the words that a shell would make of it: spaces separate, single and double quotes keep together. */
export function wordsOf(text: string): readonly string[] {
  const words = text.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g);
  return [...words].map(([word]) => word.replaceAll(/'([^']*)'|"([^"]*)"/g, (_, single, double) => single ?? double));
}
