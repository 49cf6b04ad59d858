import type { Clock } from '../../base/time.ts';

/** A reflector, as health and metrics see it. */
export interface Listener {
  readonly name: string;
  readonly isSynced: boolean;
  lastHeardAt(): number | undefined;
  problem(): string | undefined;
}

/** A watch without events or bookmarks for this long is reported as silent. */
const silentAfterMs = 180_000;

/** Milliseconds since each reflector last received something; undefined before its first list. */
export function agesOf(listeners: Iterable<Listener>, clock: Clock): ReadonlyMap<string, number | undefined> {
  const now = clock.monotonic();
  const ages = new Map<string, number | undefined>();
  for (const listener of listeners) {
    const heardAt = listener.lastHeardAt();
    ages.set(listener.name, heardAt === undefined ? undefined : now - heardAt);
  }
  return ages;
}

/** Why the process is not ready, one sentence for each reflector; empty when it is ready. */
export function complaintsOf(listeners: Iterable<Listener>, clock: Clock, limitMs = silentAfterMs): readonly string[] {
  const now = clock.monotonic();
  const complaints: string[] = [];
  for (const listener of listeners) {
    const heardAt = listener.lastHeardAt();
    const problem = listener.problem();
    const because = problem === undefined ? '' : ` (${problem})`;
    if (!listener.isSynced) complaints.push(`${listener.name}: not listed yet${because}`);
    else if (heardAt === undefined || now - heardAt > limitMs) complaints.push(`${listener.name}: silent${because}`);
  }
  return complaints;
}
