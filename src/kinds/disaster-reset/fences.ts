/** The configurations that a reset would wipe, and the checks before each send. */
import type { Pass } from '../../engine/kind/contract/pass.ts';
import type { Step } from '../../engine/kind/contract/step.ts';
import type { Snapshot } from '../../engine/ports.ts';
import type { ConfigurationItem, Resetting, SourceItem } from '../../hosting/requests.ts';
import { never, notYet, type Fence } from '../recovery/approval.ts';
import { isOf, movedOn, provenGone } from '../recovery/configurations.ts';
import { idOf } from '../shared/references.ts';
import type { DisasterResetFacts, DisasterResetSpec } from './schema.ts';

/** A pass over a reset. */
export type ResetPass = Pass<DisasterResetSpec, DisasterResetFacts>;
export type ResetStep = Step<DisasterResetFacts>;

/** What a reset must see of the service: all configurations, and the environments that can be protected. */
export interface ResetSubject {
  readonly snapshot: Snapshot<ConfigurationItem>;
  readonly sources: Snapshot<SourceItem> | undefined;
}

interface Pinned {
  readonly configurationId: string;
  readonly configurationGeneration: number;
}

/** The configurations that the spec allows a reset to wipe. */
export function pinnedOf({
  configurations,
  configurationId,
  configurationGeneration,
}: DisasterResetSpec): readonly Pinned[] {
  if (configurations !== undefined) return configurations;
  if (configurationId === undefined || configurationGeneration === undefined) return [];
  return [{ configurationId, configurationGeneration }];
}

/** The id of the environment whose protection the reset wipes. */
export function environmentOf({ spec, referred, memory }: ResetPass): string {
  const { environmentRef } = spec;
  const found = idOf('AppEnvironment', environmentRef, { referred });
  return environmentRef?.externalId ?? memory.facts.environmentId ?? found ?? '';
}

/** The body of the request. */
export function bodyOf(pass: ResetPass): Resetting {
  const { accountId } = pass.account;
  const { scope, confirmation: confirmationName } = pass.spec;
  if (scope === 'Account') return { accountId, scope: 'account', confirmationName };
  return { accountId, scope: 'environment', confirmationName, sourceAppEnvId: environmentOf(pass) };
}

/** The configurations that a reset would wipe if it were sent now: all of the account, or those of the environment. */
function reached(pass: ResetPass, { snapshot, sources }: ResetSubject): readonly ConfigurationItem[] {
  const all = [...snapshot.items.values()];
  if (pass.spec.scope === 'Account') return all;
  const appEnvId = environmentOf(pass);
  return all.filter(isOf(appEnvId, sources?.items.get(appEnvId)));
}

/** The stage of a reset that the service began and did not finish. */
export const cleaning = 'CleanupPending';

/** The first reason not to send the reset now; undefined when it may be sent. */
export function fence(pass: ResetPass, seen: ResetSubject): ResetStep | undefined {
  return foreign(pass) ?? others(pass, seen) ?? absent(pass, seen) ?? misnamed(pass, seen) ?? moved(pass, seen);
}

/** Stalls where adoption is not allowed and the spec gives an id: an id may belong to another namespace of the account. */
function foreign({ spec, account }: ResetPass): Fence | undefined {
  if (spec.environmentRef?.name !== undefined || account.adoption !== 'Never') return undefined;
  const message =
    'the spec names by id what this namespace may not have made, and adoption is Never here; use environmentRef.name, or let the account allow ById';
  return never('AdoptionNotAllowed', message);
}

/** Stalls when the reset would also wipe a configuration that the spec does not pin: somebody set the protection up anew. */
function others(pass: ResetPass, seen: ResetSubject): Fence | undefined {
  const pinned = new Set(pinnedOf(pass.spec).map(({ configurationId }) => configurationId));
  const other = reached(pass, seen).find(({ configurationId }) => !pinned.has(configurationId));
  if (other === undefined) return undefined;
  return never('Superseded', `a reset would wipe configuration ${other.configurationId}, which the spec does not pin`);
}

function absent(pass: ResetPass, seen: ResetSubject): ResetStep | undefined {
  const here = new Set(reached(pass, seen).map(({ configurationId }) => configurationId));
  const missing = pinnedOf(pass.spec).find(({ configurationId }) => !here.has(configurationId));
  if (missing === undefined) return undefined;
  const { configurationId } = missing;
  const elsewhere = seen.snapshot.items.get(configurationId);
  if (elsewhere !== undefined) {
    const { sourceAppEnvId: owner } = elsewhere;
    const unknown = `the service does not show which environment configuration ${configurationId} protects`;
    if (owner === undefined) return notYet('ReadingService', unknown);
    const other = `configuration ${configurationId} protects environment ${owner}, not ${environmentOf(pass)}`;
    return never('Superseded', other);
  }
  const message = `the service shows no configuration ${configurationId}, and this resource has not wiped it`;
  return provenGone(pass, seen.snapshot, 'ObjectMissing', message) ?? never('NotFound', message);
}

function misnamed(pass: ResetPass, { sources }: ResetSubject): Fence | undefined {
  if (pass.spec.scope === 'Account') return undefined;
  const name = sources?.items.get(environmentOf(pass))?.environmentName;
  if (name === undefined || name === pass.spec.confirmation) return undefined;
  return never('ConfirmationMismatch', `spec.confirmation must be ${name}`);
}

/** Requires the pinned generation, unless the service has already begun the reset: then a repeat finishes what it began. */
function moved(pass: ResetPass, { snapshot }: ResetSubject): Fence | undefined {
  if (pass.memory.facts.stage === cleaning) return undefined;
  for (const { configurationId, configurationGeneration } of pinnedOf(pass.spec)) {
    const shown = snapshot.items.get(configurationId);
    const fenced = shown && movedOn(shown.generation, configurationGeneration);
    if (fenced !== undefined) return fenced;
  }
  return undefined;
}
