import { defineKind, type ReferenceNeed } from '../engine/kind/define.ts';
import { isoSeconds } from '../engine/kind/moment.ts';
import type { Pass } from '../engine/kind/pass.ts';
import { readOf } from '../engine/kind/reading.ts';
import type { JournalEntry, Step } from '../engine/kind/step.ts';
import type { Snapshot } from '../engine/ports.ts';
import {
  drConfigurationsOf,
  drSourcesOf,
  postDisasterReadinessReset,
  resetCountsOf,
  type ConfigurationItem,
  type Resetting,
  type SourceItem,
} from '../hosting/requests.ts';
import { expired, never, notYet, type Fence } from './approval.ts';
import { activeIdOf, cleansUp, isActivation, operationIn } from './configurations.ts';
import { ended, needsOf, provenTwice, stepOnce, underWay, type OncePlan } from './one-shot.ts';
import { isWhole } from './recovery-activation-content.ts';
import { movedOn } from './recovery-activation-fences.ts';
import { identity, type Facts, type Spec } from './schema/disaster-reset.ts';

type ResetPass = Pass<Spec, Facts>;

interface Seen {
  readonly walk: Snapshot<ConfigurationItem>;
  readonly sources: ReadonlyMap<string, SourceItem>;
  readonly sourcesBegunAt: number | undefined;
}

interface Pinned {
  readonly configurationId: string;
  readonly configurationGeneration: number;
}

/** What may be wiped, as the spec pins it. */
function pinnedOf({ configurations, configurationId, configurationGeneration }: Spec): readonly Pinned[] {
  if (configurations !== undefined) return configurations;
  if (configurationId === undefined || configurationGeneration === undefined) return [];
  return [{ configurationId, configurationGeneration }];
}

function environmentOf({ spec, referred, memory }: ResetPass): string {
  const { appEnvId, environmentRef } = spec;
  const found = environmentRef && referred('AppEnvironment', environmentRef.name)?.id;
  return appEnvId ?? memory.facts.appEnvId ?? found ?? '';
}

function bodyOf(pass: ResetPass): Resetting {
  const { accountId } = pass.account;
  const { scope, confirmationName } = pass.spec;
  if (scope === 'Account') return { accountId, scope: 'account', confirmationName };
  return { accountId, scope: 'environment', confirmationName, sourceAppEnvId: environmentOf(pass) };
}

/** Reads every configuration, since none but the pinned ones may be there. */
function look(pass: ResetPass, since: number): Step<Facts> | Seen {
  const { accountId } = pass.account;
  const read = drConfigurationsOf(accountId);
  const walk = pass.view.all(read);
  if (walk === undefined || walk.begunAt < since) return readOf(pass, read, since);
  const sources = drSourcesOf(accountId);
  const listed = pass.view.all(sources);
  if (listed === undefined && pass.view.problem(sources) === undefined) {
    return readOf(pass, sources, Number.NEGATIVE_INFINITY);
  }
  return { walk, sources: listed?.items ?? new Map(), sourcesBegunAt: listed?.begunAt };
}

/** The configurations that a reset would reach now: all of the account, or those of the environment. */
function reached(pass: ResetPass, { walk, sources }: Seen): readonly ConfigurationItem[] {
  const all = [...walk.items.values()];
  if (pass.spec.scope === 'Account') return all;
  const appEnvId = environmentOf(pass);
  const bySource = sources.get(appEnvId)?.configurationId;
  return all.filter(
    (item) =>
      item.sourceAppEnvId === appEnvId || (item.sourceAppEnvId === undefined && item.configurationId === bySource),
  );
}

/** The stage of a reset that the service began and did not finish. */
const cleaning = 'CleanupPending';

function fence(pass: ResetPass, seen: Seen): Step<Facts> | Fence | undefined {
  const { journal } = pass.memory;
  if (journal !== undefined && !isWhole(bodyOf(pass), journal)) {
    return never('JournalDamaged', 'status.journal does not carry what the spec asks for; nothing is sent');
  }
  const late = expired(pass, seen.walk, pass.spec.validUntil);
  if (late !== undefined) return late;
  return foreign(pass) ?? others(pass, seen) ?? absent(pass, seen) ?? misnamed(pass, seen) ?? moved(pass, seen);
}

/** Naming an id is no proof that it is this namespace's: others may share the account. */
function foreign({ spec, account }: ResetPass): Fence | undefined {
  if (spec.environmentRef !== undefined || account.adoption !== 'Never') return undefined;
  return never(
    'AdoptionNotAllowed',
    'the spec names by id what this namespace may not have made, and adoption is Never here; use environmentRef, or let the account allow ById',
  );
}

/** Another configuration that a reset would wipe as well: somebody set the protection up anew. */
function others(pass: ResetPass, seen: Seen): Fence | undefined {
  const pinned = new Set(pinnedOf(pass.spec).map(({ configurationId }) => configurationId));
  const other = reached(pass, seen).find(({ configurationId }) => !pinned.has(configurationId));
  if (other === undefined) return undefined;
  return never('Superseded', `a reset would wipe configuration ${other.configurationId}, which the spec does not pin`);
}

function absent(pass: ResetPass, seen: Seen): Step<Facts> | Fence | undefined {
  const here = new Set(reached(pass, seen).map(({ configurationId }) => configurationId));
  const missing = pinnedOf(pass.spec).find(({ configurationId }) => !here.has(configurationId));
  if (missing === undefined) return undefined;
  const { configurationId } = missing;
  const elsewhere = seen.walk.items.get(configurationId);
  if (elsewhere !== undefined) {
    const owner = elsewhere.sourceAppEnvId;
    return owner === undefined
      ? notYet(
          'ReadingService',
          `the service does not show which environment configuration ${configurationId} protects`,
        )
      : never(
          'Superseded',
          `configuration ${configurationId} protects environment ${owner}, not ${environmentOf(pass)}`,
        );
  }
  const message = `the service shows no configuration ${configurationId}, and this resource has not wiped it`;
  const read = drConfigurationsOf(pass.account.accountId);
  const unsure = provenTwice<Spec, Facts>(pass, read, seen.walk, { reason: 'ObjectMissing', message });
  return unsure ?? never('NotFound', message);
}

function misnamed(pass: ResetPass, { sources }: Seen): Fence | undefined {
  if (pass.spec.scope === 'Account') return undefined;
  const name = sources.get(environmentOf(pass))?.environmentName;
  if (name === undefined || name === pass.spec.confirmationName) return undefined;
  return never('ConfirmationMismatch', `spec.confirmationName must be ${name}`);
}

/** The generation must be the pinned one, unless the service has said that it is at work: then a repeat finishes what it began. */
function moved(pass: ResetPass, { walk }: Seen): Fence | undefined {
  if (pass.memory.facts.stage === cleaning) return undefined;
  for (const { configurationId, configurationGeneration } of pinnedOf(pass.spec)) {
    const shown = walk.items.get(configurationId);
    const fenced = shown && movedOn(shown.generation, configurationGeneration);
    if (fenced !== undefined) return fenced;
  }
  return undefined;
}

function isGone(pass: ResetPass, { walk }: Seen): boolean {
  return pinnedOf(pass.spec).every(({ configurationId }) => !walk.items.has(configurationId));
}

/** The service said no. While it cleans up, that means "again later"; otherwise it is the end. */
function refused(pass: ResetPass, { walk }: Seen, said: string): Step<Facts> | undefined {
  const { journal } = pass.memory;
  const items = pinnedOf(pass.spec).flatMap(({ configurationId }) => walk.items.get(configurationId) ?? []);
  const activating = items.some((item) => isActivation(operationIn(item, activeIdOf(item)) ?? { kind: undefined }));
  const pending = items.some(({ pendingCleanup }) => cleansUp(pendingCleanup));
  if (journal === undefined || activating || !pending) return undefined;
  const { conflicted: _said, ...open } = journal;
  const facts: Facts = { ...pass.memory.facts, stage: cleaning };
  const message = `the service cleans up and does not finish the reset yet (${said}); it is sent again later`;
  return { is: 'wait', reason: 'CleanupPending', message, retryInMs: 5_000, remember: { journal: open, facts } };
}

/** Wiped when no pinned configuration shows in two walks and nothing of it is being cleaned up. */
function follow(pass: ResetPass, seen: Seen): Step<Facts> {
  if (!isGone(pass, seen)) {
    const message = 'the service accepted the reset and still lists the configuration';
    return { is: 'wait', reason: 'CleanupPending', message, retryInMs: 10_000, note: {} };
  }
  const facts = factsOf(pass, seen);
  const message = 'the configuration is gone';
  const read = drConfigurationsOf(pass.account.accountId);
  const unsure = provenTwice<Spec, Facts>(pass, read, seen.walk, { reason: 'InProgress', message });
  if (unsure !== undefined) return unsure;
  // What was listed while the configuration was still there says nothing of the clean-up after it.
  const since = pass.notes['missedAt'] ?? seen.walk.begunAt;
  if (seen.sourcesBegunAt === undefined || seen.sourcesBegunAt < since) {
    return readOf(pass, drSourcesOf(pass.account.accountId), since);
  }
  if (wipedSources(pass, seen).some(({ pendingCleanup }) => cleansUp(pendingCleanup))) {
    return {
      is: 'wait',
      reason: 'CleanupPending',
      message: `${message}; the service still cleans up`,
      remember: { facts },
    };
  }
  return ended(pass, { is: 'ready', reason: 'Succeeded', message }, { facts: { ...facts, stage: 'Wiped' } });
}

/** The environments whose protection is wiped, as far as they are listed. */
function wipedSources(pass: ResetPass, { sources }: Seen): readonly SourceItem[] {
  if (pass.spec.scope === 'Account') return [...sources.values()];
  const source = sources.get(environmentOf(pass));
  return source === undefined ? [] : [source];
}

function factsOf(pass: ResetPass, seen: Seen | undefined): Facts {
  const appEnvId = environmentOf(pass);
  const cleanup = seen?.sources.get(appEnvId)?.pendingCleanup;
  const shown = cleanup && Object.entries(cleanup).filter(([, value]) => value !== undefined);
  return {
    ...pass.memory.facts,
    ...(appEnvId !== '' && { appEnvId }),
    ...(shown !== undefined && { pendingCleanup: Object.fromEntries(shown) }),
  };
}

function callOf(pass: ResetPass, { payload = JSON.stringify(bodyOf(pass)) }: JournalEntry) {
  const { account, memory, wallMs } = pass;
  return {
    // The entry was compared with the spec before.
    request: postDisasterReadinessReset(JSON.parse(payload) as Resetting),
    credential: 'dangerous' as const,
    proof: drConfigurationsOf(account.accountId).first,
    committed: (body: unknown) => {
      const { configurations, destinations } = resetCountsOf(body) ?? {};
      // Without a count it may come from somebody in between; with none, somebody else was first. What is gone decides.
      if (configurations === undefined || configurations === 0) return undefined;
      const facts: Facts = {
        ...memory.facts,
        stage: 'Accepted',
        acceptedAt: isoSeconds(wallMs),
        configurations,
        ...(destinations !== undefined && { destinations }),
      };
      return { facts };
    },
  };
}

function environmentNeed({ environmentRef }: Spec): ReferenceNeed | undefined {
  if (environmentRef === undefined) return undefined;
  return { kind: 'AppEnvironment', name: environmentRef.name, field: 'environmentRef', optional: true };
}

const plan: OncePlan<Spec, Facts, Seen> = {
  noun: 'reset',
  power: ({ scope }) => (scope === 'Account' ? 'accountReset' : 'activation'),
  refersTo: environmentNeed,
  validUntil: (spec) => spec.validUntil,
  facts: (pass) => factsOf(pass, undefined),
  look,
  walkOf: ({ walk }) => walk,
  trace: (pass, seen) =>
    pass.memory.journal !== undefined && pass.notes['unsent'] === undefined && isGone(pass, seen)
      ? { journal: undefined, facts: { ...pass.memory.facts, acceptedAt: isoSeconds(pass.wallMs) } }
      : undefined,
  fence,
  intent: (pass) => {
    const body = bodyOf(pass);
    const name = body.scope === 'environment' ? body.sourceAppEnvId : body.accountId;
    return {
      operation: 'reset',
      attempt: 1,
      digest: pass.print({ ...body }),
      payload: JSON.stringify(body),
      create: { collection: 'reset', name, excluded: [] },
    };
  },
  words: (pass) =>
    pass.spec.scope === 'Account'
      ? `reset all disaster readiness of account ${pass.account.accountId}`
      : `reset disaster readiness of environment ${environmentOf(pass)}`,
  call: callOf,
  refused,
  unidentified: true,
  follow,
};

function show(pass: ResetPass) {
  const seen = look(pass, Number.NEGATIVE_INFINITY);
  const facts = factsOf(pass, 'is' in seen ? undefined : seen);
  return { facts, conditions: underWay(pass), drift: [], unverified: [], leftover: [] };
}

/** The removal of a protection with everything that belongs to it. */
export const disasterReset = defineKind<Spec, Facts>({
  ...identity,
  needs: (spec) => needsOf(environmentNeed(spec)),
  claims: (spec) => pinnedOf(spec).map(({ configurationId }) => configurationId),
  finished: ({ finishedAt }) => finishedAt !== undefined,
  step: (pass) => stepOnce(plan, pass),
  show,
});
