/** Turns names of the service into valid Kubernetes names; adds the id where several objects would get the same name. */
export function namesOf(
  items: readonly { readonly id: string; readonly name: string }[],
  taken: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<string, string> {
  const slugs = items.map(({ id, name }) => ({ id, slug: taken.get(id) ?? slugOf(name) }));
  const used = new Set<string>();
  return new Map(
    slugs.map(({ id, slug }) => {
      const isShared = taken.get(id) === undefined && slugs.some((other) => other.id !== id && other.slug === slug);
      const wish = slug === '' ? slugOf(id) : isShared ? `${slug.slice(0, 30)}-${slugOf(id)}` : slug;
      let name = wish;
      for (let n = 2; used.has(name); n += 1) name = `${wish}-${n}`;
      used.add(name);
      return [id, name] as const;
    }),
  );
}

/** Turns a text into a Kubernetes name: at most 50 lower case letters, digits and dashes. */
function slugOf(text: string): string {
  const plain = text.normalize('NFKD').toLowerCase();
  return (plain.match(/[a-z0-9]+/g) ?? []).join('-').slice(0, 50).replace(/-+$/, '');
}
