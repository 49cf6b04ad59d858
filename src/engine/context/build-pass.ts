/** Builds the pass, everything that a kind decides on, from the context of a reconcile. */
import { isRecord } from '../../base/json.ts';
import type { AnyKind } from '../kind/contract/define.ts';
import type { AccountView, Pass, View } from '../kind/contract/pass.ts';
import { tie } from '../objects/object-index.ts';
import { contested, markOf, seenJournal, writtenTo } from '../objects/in-process.ts';
import { usageOf } from '../account/usage.ts';
import type { ReadableContext } from './parts.ts';
import { claimantOf, dependentsOf, inAccount, referrersOf, relatedTo } from './relations.ts';
import { subjectOf, type Resources } from './resources.ts';

/** The resources of an object, with its account as kinds see it. */
export type Given = Omit<Resources, 'session'> & { readonly account: AccountView };

/** The pass for the context as it stands now. */
export function buildPass(context: ReadableContext, view: View, given: Given): Pass<unknown, unknown> {
  const { parts, stored, inProcess, memory } = context;
  const { clock, objects, accounts, key, settings } = parts;
  const { account } = given;
  const now = { monotonic: clock.monotonic(), wall: clock.wall() };
  const cluster = parts.serverDate?.();
  // Objects from before a take-over may have been created by the predecessor, so they do not count as new.
  const { newSince = Number.NEGATIVE_INFINITY } = inProcess;
  return {
    subject: subjectOf(stored),
    spec: stored.spec.is === 'valid' ? stored.spec.value : undefined,
    memory,
    account,
    view,
    referred: (kind, name) => given.referred.get(`${kind}/${name}`),
    secret: (name, field) => given.secrets.get(`${name}/${field}`),
    configMap: (name, field) => given.configMaps.get(`${name}/${field}`),
    inAccount: (kind) => inAccount(stored, objects, accounts, kind),
    related: (kind, id) => relatedTo(stored, objects, accounts, { kind, id }),
    ...(settings.powers !== undefined && { powers: settings.powers }),
    ...(cluster !== undefined && { clusterMs: cluster.dateMs + now.monotonic - cluster.seenAt }),
    claimant: (id) => {
      const other = claimantOf(stored, objects, accounts, id);
      if (other?.goesFirst === true) parts.awaitClaim(tie.claim(stored.kind.kind, id), stored.key);
      return other;
    },
    referrers: (kind) => referrersOf(parts, stored, kind),
    shown: (text) => context.redacted(text),
    dependents: () => dependentsOf(parts, stored),
    ...(stored.kind.life === 'account' && { usage: () => usageOf(parts, stored, accounts.session(stored.key)) }),
    creating: (collection, name) => parts.openCreates.other(stored, account, collection, name),
    wrote: writtenTo(inProcess, memory.id),
    journalSeen: seenJournal(inProcess, memory.journal, now),
    notes: inProcess.notes,
    askedAt: inProcess.askedAt ?? now.monotonic,
    ...(newSince > parts.quarantinedUntil() && { newSince }),
    quarantineMs: Math.max(0, parts.quarantinedUntil() - now.monotonic),
    horizonMs: settings.horizonMs,
    callMs: settings.callMs,
    marker: markOf(inProcess, key, account, stored.object.metadata.uid),
    print: (value) => key.print(value),
    contested: contested(inProcess, stored.object.metadata.generation ?? 0, now.monotonic),
    wallMs: now.wall,
    monotonicMs: now.monotonic,
  };
}

/** The pass of a moment ago with current data, to ask the kind the same question again. */
export function passAgain(now: Pass<unknown, unknown>, before: Pass<unknown, unknown>): Pass<unknown, unknown> {
  const { notes, askedAt, journalSeen, secret, configMap, referred } = before;
  return { ...now, notes, askedAt, journalSeen, secret, configMap, referred };
}

/** True when nothing may be written to the service for this object: the account or its own spec says so. */
export function isObserving(kind: AnyKind, pass: Pass<unknown, unknown>): boolean {
  return pass.account.managementPolicy === 'Observe' || policyOf(kind, pass.spec) === 'Observe';
}

function policyOf(kind: AnyKind, spec: unknown): unknown {
  if (kind.life !== 'long' || typeof spec !== 'object' || spec === null || !('lifecycle' in spec)) return undefined;
  const { lifecycle } = spec;
  return isRecord(lifecycle) ? lifecycle['managementPolicy'] : undefined;
}
