/**
 * Tells which environment to protect, finds its configuration in a list of the service, and binds the protection to that
 * configuration.
 */
import type { Pass } from '../../engine/kind/contract/pass.ts';
import type { Memory, Step } from '../../engine/kind/contract/step.ts';
import { boundTo } from '../../engine/kind/planner/create.ts';
import type { Snapshot } from '../../engine/ports.ts';
import type { ConfigurationItem } from '../../hosting/requests.ts';
import { idOf } from '../shared/references.ts';
import type { DisasterProtectionFacts, DisasterProtectionSpec } from './schema.ts';

/**
 * The input for deciding the next step of a DisasterProtection: the spec, what status remembers, and what the service
 * shows.
 */
export type ProtectionPass = Pass<DisasterProtectionSpec, DisasterProtectionFacts>;
export type ProtectionStep = Step<DisasterProtectionFacts>;

/** A complete list of the configurations of an account. */
export type Configurations = Snapshot<ConfigurationItem>;

/**
 * Returns the id of the protected environment. The id is fixed while a configuration is bound or the journal holds a
 * call, even if spec.environmentRef now resolves to another environment.
 */
export function environmentOf(pass: ProtectionPass): string {
  const { spec, memory } = pass;
  const isFixed = memory.id !== undefined || memory.journal !== undefined;
  const fixed = isFixed ? memory.facts.environmentId : undefined;
  return spec.environmentRef.externalId ?? fixed ?? referredTo(pass) ?? memory.facts.environmentId ?? '';
}

/** Returns the id of the environment to which spec.environmentRef resolves now. */
export function referredTo(pass: ProtectionPass): string | undefined {
  return idOf('AppEnvironment', pass.spec.environmentRef, pass);
}

/** Returns the configuration that protects the environment, if the list has one. */
export function ofEnvironment(pass: ProtectionPass, snapshot: Configurations): ConfigurationItem | undefined {
  const appEnvId = environmentOf(pass);
  return [...snapshot.items.values()].find(({ sourceAppEnvId }) => sourceAppEnvId === appEnvId);
}

/**
 * Returns the changes of status that bind a DisasterProtection to a configuration. If it was bound to another
 * configuration before, removes the fingerprints of the settings that were sent to the earlier configuration.
 */
export function bound(
  pass: ProtectionPass,
  id: string,
  made: 'Created' | 'Adopted',
  { goneTime: _gone, wipedBy: _by, ...facts }: DisasterProtectionFacts = pass.memory.facts,
): Partial<Memory<DisasterProtectionFacts>> {
  const { id: known, ownership = made } = pass.memory;
  return known === id
    ? { ...boundTo(pass, id, ownership), facts }
    : { ...boundTo(pass, id, made), facts, applied: undefined };
}
