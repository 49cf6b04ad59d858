/** Whether labels meet a selector of the equality kind: `a=b`, `a!=b`, `a`, `!a`, joined by commas. */
export function meets(labels: Readonly<Record<string, string>> | undefined, selector: string | undefined): boolean {
  if (selector === undefined || selector === '') return true;
  return selector.split(',').every((term) => {
    const [, key = '', operator, value] = /^(!?[^=!]+)(==|!=|=)?(.*)$/.exec(term.trim()) ?? [];
    if (operator === undefined) {
      return key.startsWith('!') ? labels?.[key.slice(1)] === undefined : labels?.[key] !== undefined;
    }
    return operator === '!=' ? labels?.[key] !== value : labels?.[key] === value;
  });
}
