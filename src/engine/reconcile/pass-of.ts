import type { AnyKind } from '../kind/contract/define.ts';
import type { Parts } from '../parts.ts';
import type { AccountView, Pass } from '../kind/contract/pass.ts';
import { contested, markOf, seenJournal, writtenTo } from '../objects/in-process.ts';
import { claimantOf, dependentsOf, inAccount, referrersOf, relatedTo } from './relations.ts';
import { subjectOf, type Surroundings } from './surroundings.ts';
import { tallyOf } from '../account/usage.ts';
import { remembering, type Work } from './work.ts';

/** What surrounds an object, with its account as decisions see it. */
export type Sighted = Omit<Surroundings, 'session'> & { readonly account: AccountView };

/** What may be decided on now. */
export function passOf(
  parts: Parts,
  work: Work,
  around: Sighted,
  asked: Pick<Required<Pass<unknown, unknown>>, 'view' | 'creating' | 'isCreatingAsUsual'>,
): Pass<unknown, unknown> {
  const { clock, objects, accounts, key, settings } = parts;
  const { account } = around;
  const { inProcess, entry } = work;
  const now = { monotonic: clock.monotonic(), wall: clock.wall() };
  const cluster = parts.serverDate?.();
  // What was there before a take-over may be what a predecessor was creating.
  const { newSince = Number.NEGATIVE_INFINITY } = inProcess;
  return {
    subject: subjectOf(entry),
    spec: entry.spec.is === 'valid' ? entry.spec.value : undefined,
    memory: work.status.memory,
    account,
    view: asked.view,
    referred: (kind, name) => around.referred.get(`${kind}/${name}`),
    secret: (name, field) => around.secrets.get(`${name}/${field}`),
    configMap: (name, field) => around.configMaps.get(`${name}/${field}`),
    inAccount: (kind) => inAccount(entry, objects, accounts, kind),
    related: (kind, id) => relatedTo(entry, objects, accounts, { kind, id }),
    ...(settings.powers !== undefined && { powers: settings.powers }),
    ...(cluster !== undefined && { clusterMs: cluster.dateMs + now.monotonic - cluster.seenAt }),
    claimant: (id) => claimantOf(entry, objects, accounts, id),
    referrers: (kind) => referrersOf(parts, entry, kind),
    shown: (text) => work.shown(text),
    dependents: () => dependentsOf(parts, entry),
    ...(entry.kind.life === 'account' && { tally: () => tallyOf(parts, entry, accounts.session(entry.key)) }),
    creating: asked.creating,
    isCreatingAsUsual: asked.isCreatingAsUsual,
    wrote: writtenTo(inProcess, work.status.memory.id),
    journalSeen: seenJournal(inProcess, work.status.memory.journal, now),
    notes: inProcess.notes,
    askedAt: inProcess.askedAt ?? now.monotonic,
    ...(newSince > parts.quarantinedUntil() && { newSince }),
    quarantineMs: Math.max(0, parts.quarantinedUntil() - now.monotonic),
    horizonMs: settings.horizonMs,
    marker: markOf(inProcess, key, account, entry.object.metadata.uid),
    print: (value) => key.print(value),
    contested: contested(inProcess, entry.object.metadata.generation ?? 0, now.monotonic),
    wallMs: now.wall,
    monotonicMs: now.monotonic,
  };
}

/** The pass of a moment ago with what is known now: the same question, asked again. */
export function passAgain(now: Pass<unknown, unknown>, before: Pass<unknown, unknown>): Pass<unknown, unknown> {
  const { notes, askedAt, journalSeen, secret, configMap, referred } = before;
  return { ...now, notes, askedAt, journalSeen, secret, configMap, referred };
}

/** Whether nothing may be written to the service for this object: the account or its own spec says so. */
export function isObserving(kind: AnyKind, pass: Pass<unknown, unknown>): boolean {
  return pass.account.mode === 'Observe' || modeOf(kind, pass.spec) === 'Observe';
}

function modeOf(kind: AnyKind, spec: unknown): unknown {
  if (kind.life !== 'long' || typeof spec !== 'object' || spec === null || !('lifecycle' in spec)) return undefined;
  const { lifecycle } = spec;
  return typeof lifecycle === 'object' && lifecycle !== null && 'mode' in lifecycle ? lifecycle.mode : undefined;
}

/** The owner of the account accepted another endpoint: what is bound is bound there from now on; a request stays where it was made. */
export function rebound(work: Work, { session }: Surroundings): Work {
  const { binding } = work.status.memory;
  const { endpoint, accountId } = session.service;
  if (work.entry.kind.life !== 'long' || binding === undefined || binding.endpoint === endpoint) return work;
  return remembering(work, { binding: { endpoint, accountId } });
}
