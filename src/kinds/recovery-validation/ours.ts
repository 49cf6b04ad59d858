/** Which operation is the one of a validation, also where the history of the service shows no ids. */
import type { Pass } from '../../engine/kind/contract/pass.ts';
import type { ConfigurationItem, DrOperation } from '../../hosting/requests.ts';
import { activeIdOf, definedIn, operationIn, sameMoment } from '../recovery/configurations.ts';
import type { RecoveryValidationFacts, RecoveryValidationSpec } from './schema.ts';

/** A pass over a validation. */
export type ValidationPass = Pass<RecoveryValidationSpec, RecoveryValidationFacts>;

/** The service's clock may differ from ours by this much when an operation is recognised by its beginning. */
const apartMs = 60_000;

/** The operation of a validation, by its id, or as the validation without an id that a history shows in its place. */
export function ownOperation({ memory }: ValidationPass, configuration: ConfigurationItem): DrOperation | undefined {
  const { id, facts } = memory;
  const named = operationIn(configuration, id);
  const { startedTime, acceptedTime = '' } = facts;
  const isActive = id !== undefined && activeIdOf(configuration) === id;
  const others = configuration.activities.filter((one) => one.operationId === undefined && isValidation(one));
  const [nameless, ...more] = others.filter((one) => {
    if (startedTime !== undefined) return sameMoment(one.startedAt, startedTime);
    if (one.startedAt === undefined || one.endedAt !== undefined) return false;
    return isActive || Math.abs(Date.parse(one.startedAt) - Date.parse(acceptedTime)) <= apartMs;
  });
  if (id === undefined || nameless === undefined || more.length > 0) return named;
  return { ...nameless, ...(named && definedIn(named)), operationId: id };
}

/** True for a validation, by the kind that the service shows. */
export function isValidation({ kind }: DrOperation): boolean {
  return kind !== undefined && /validat/i.test(kind);
}
