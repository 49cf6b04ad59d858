import { kinds } from '../../../src/kinds/index.ts';
import { rows, type Row } from '../../deploy/support/statuses.ts';
import type { Api } from '../../scenarios/support/kubernetes.ts';
import type { Manifest, Team } from '../../scenarios/support/stages/team.ts';

/** An object, and the state that it is put in. */
export interface State {
  readonly manifest: Manifest;
  readonly row: Row;
}

/** What a status may hold: see the definitions. */
const mostConditions = 20;

/** Each kind in each state that tools tell apart; with `reasons`, one of them in every row of the table of states. */
export function everyState(samples: readonly Manifest[], { reasons = false } = {}): readonly State[] {
  const possible = rows().filter(({ object }) => (object.status?.conditions ?? []).length <= mostConditions);
  const told = Object.values(Object.groupBy(possible, wordsOf)).flatMap((alike) => alike?.slice(0, 1) ?? []);
  return kinds
    .filter(({ scope }) => scope === 'Namespaced')
    .flatMap(({ kind }) => {
      const sample = samples.find((one) => one.kind === kind);
      if (sample === undefined) throw new Error(`there is no sample of ${kind}`);
      const states = reasons && kind === 'ContactPoint' ? possible : told;
      return states.map((row, at) => ({ row, manifest: { ...sample, metadata: { name: `state-${at}` } } }));
    });
}

/** Does something with each, some at a time. */
export async function forEach<Item>(items: readonly Item[], act: (item: Item) => Promise<unknown>): Promise<void> {
  const left = [...items];
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await act(next);
  };
  await Promise.all(Array.from({ length: 20 }, work));
}

/** What tools can tell apart: where the object is, and what its summary says. */
function wordsOf({ object: { metadata, status }, kstatus }: Row): string {
  const { generation, annotations = {}, deletionTimestamp } = metadata;
  const age = status?.observedGeneration === generation;
  return [kstatus, age, Object.keys(annotations), deletionTimestamp].join();
}

/** Gives an applied object the status, the annotations and the deletion of its state. */
export async function putInState(api: Api, team: Team, { manifest, row }: State): Promise<void> {
  const path = team.path(manifest);
  const { annotations, deletionTimestamp, generation } = row.object.metadata;
  const finalizers = deletionTimestamp === undefined ? [] : ['trials.example.com/held'];
  const held = await patched(api, path, { metadata: { annotations: annotations ?? {}, finalizers } });
  const shift = held.metadata.generation - generation;
  const { observedGeneration = -1, conditions = [] } = row.object.status ?? {};
  const shifted = (of: number) => (of < 0 ? of : Math.max(0, of + shift));
  const status = {
    observedGeneration: shifted(observedGeneration),
    conditions: conditions.map((one) => ({ ...one, observedGeneration: shifted(one.observedGeneration) })),
  };
  await patched(api, `${path}/status`, { status });
  if (deletionTimestamp !== undefined) await api.delete(path);
}

async function patched(api: Api, path: string, change: object): Promise<{ metadata: { generation: number } }> {
  const { status, body } = await api.patch(path, change);
  if (status !== 200) throw new Error(`${path}: ${JSON.stringify(body)}`);
  return body as { metadata: { generation: number } };
}
