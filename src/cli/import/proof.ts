/** Runs the operator in memory to prove that applying the imported resources sends nothing to the service. */
import { group, version } from '../../engine/kind/contract/define.ts';
import { keyOf } from '../../engine/objects/stored.ts';
import type { AccountReader } from '../account/reader.ts';
import { flawsOf, pathInWords } from '../definitions.ts';
import { documentsIn } from '../documents/load.ts';
import { makePlan } from '../plan/make-plan.ts';
import { notQuiet, rehearse, type Played } from '../plan/rehearsal.ts';
import { objectOf, sortDocuments } from '../plan/scenes.ts';
import { writtenSpec, type Draft } from './manifests.ts';
import type { Gap } from './read-account.ts';

/** The result of the proof that applying the imported resources sends nothing to the service. */
export type Proof = Awaited<ReturnType<typeof proved>>;

/**
 * Runs the operator in memory on the resources to import. Gives the policy `Observe` to each resource for which the
 * operator would send a call. Returns the resources to write, those that cannot be written, and the number of calls
 * that the operator would send in the last run: 0 if the proof succeeded.
 */
export async function proved(drafts: readonly Draft[], reader: AccountReader, namespace: string) {
  const flaws = new Map(drafts.map((draft) => [draft, flawOf(draft)]));
  const skipped = drafts.flatMap((draft): Gap[] => {
    const reason = flaws.get(draft);
    return reason === undefined ? [] : [{ what: `${draft.kind} ${draft.id}`, code: 'NotExpressible', reason }];
  });
  let valid = drafts.filter((draft) => flaws.get(draft) === undefined);
  // Run the operator again after some resources got `managementPolicy: Observe`, because resources that refer to them
  // may then need this policy too. Chains of references are at most three levels long, so two more runs are enough.
  for (let round = 0; ; round += 1) {
    const played = await play(valid, reader, namespace);
    const sending = Map.groupBy(played.calls, ({ object }) => object);
    if (sending.size === 0 || round === 2)
      return {
        drafts: valid,
        skipped,
        calls: played.calls.length,
        problems: [...played.failures, ...(played.isQuiet ? [] : [notQuiet])],
      };
    valid = valid.map((draft) => {
      const calls = sending.get(keyOf(draft.kind, namespace, draft.name)) ?? [];
      const sent = calls.map(({ request }) => request.endpoint).join(', ');
      const observed = { code: 'NotEqual', reason: `if the operator managed the object, it would send ${sent}` };
      return calls.length === 0 ? draft : { ...draft, observed };
    });
  }
}

/**
 * Lists the calls to the service that applying the manifests of a folder would cause, including calls that come from
 * manual edits.
 */
export async function callsOf(texts: ReadonlyMap<string, string>, reader: AccountReader, namespace: string) {
  const wanted = sortDocuments(documentsIn(texts), namespace);
  const { rows } = await makePlan({ name: '', from: '', wanted, readers: [reader], requestsPerSecond: 1 });
  return rows.flatMap(({ kind, name, call }) => (call === undefined ? [] : [`${kind}/${name} ${call}`]));
}

function flawOf(draft: Draft): string | undefined {
  const object = { apiVersion: `${group}/${version}`, metadata: { name: draft.name }, spec: writtenSpec(draft) };
  const [flaw] = flawsOf(draft.kind, object);
  return flaw === undefined ? undefined : `${pathInWords(flaw.path)}: ${flaw.message}`;
}

function play(drafts: readonly Draft[], reader: AccountReader, namespace: string): Promise<Played> {
  const ofAccount = { externalId: reader.accountId, credentialsRef: { name: 'hosting-credentials' } };
  const account = objectOf('HostingAccount', namespace, 'default', ofAccount);
  const objects = drafts.map((draft) => objectOf(draft.kind, namespace, draft.name, writtenSpec(draft)));
  const after = { objects: [account, ...objects], materials: new Map() };
  return rehearse(undefined, after, [reader]);
}
