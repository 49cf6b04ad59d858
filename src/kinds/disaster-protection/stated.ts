/** Fields by name. */
export type StatedRow = Readonly<Record<string, unknown>>;

/** Only what is stated; undefined when nothing is. */
export function stated<Result>(row: StatedRow | undefined): Result | undefined {
  if (row === undefined) return undefined;
  const rows = Object.entries(row).filter(([, value]) => value !== undefined);
  // Each caller names the shape that its own rows have.
  return rows.length === 0 ? undefined : (Object.fromEntries(rows) as Result);
}
