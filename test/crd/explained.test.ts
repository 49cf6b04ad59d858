/* What `kubectl explain` says of the fields about recovery and of status: a person with the service's manual finds its words. */
import { describe, expect, it } from 'vitest';
import { kinds } from '../../src/kinds/index.ts';
import { definitions, nodesIn } from './definitions.ts';

/** The descriptions by kind and path. */
const texts = new Map<string, string>(
  definitions.flatMap(({ spec: { names, versions } }) =>
    versions.flatMap(({ schema }) =>
      nodesIn(schema.openAPIV3Schema).map(
        ([path, { description }]) => [`${names.kind} ${path.slice(1)}`, description ?? ''] as const,
      ),
    ),
  ),
);

/** The interface's own words of fields that are called otherwise here; test/kinds/reach.test.ts has those of the other requests. */
const words: readonly (readonly [place: string, word: string])[] = [
  ['DisasterProtection spec.environmentRef.externalId', 'sourceAppEnvId'],
  ['DisasterProtection spec.protectionMode', 'mode'],
  ['DisasterProtection spec.storage.credentialId', 'storageCredentialId'],
  ['DisasterProtection spec.snapshotIntervalSeconds', 'snapshotIntervalMs'],
  ['DisasterProtection spec.validationIntervalSeconds', 'validationIntervalMs'],
  ['DisasterProtection spec.rpoTargetSeconds', 'rpoTargetMs'],
  ['DisasterProtection spec.rtoTargetSeconds', 'rtoTargetMs'],
  ['DisasterProtection spec.acknowledgements', 'sameRegionAcknowledged'],
  ['DisasterProtection spec.target.environmentName', 'envName'],
  ['DisasterProtection status.environmentId', 'sourceAppEnvId'],
  ['DisasterProtection status.configurationGeneration', 'generation'],
  ['DisasterProtection status.recoveryPoints[].cutoffTime', 'cutoffAt'],
  ['DisasterProtection status.recoveryPoints[].sizing', 'retainedSizing'],
  ['DisasterProtection status.readiness.recoveryPointAgeSeconds', 'recoveryPointAgeMs'],
  ['DisasterProtection status.readiness.cutoffTime', 'cutoffAt'],
  ['DisasterProtection status.activeOperation.stage', 'phase'],
  ['DisasterProtection status.activeOperation.cutoffTime', 'cutoffAt'],
  ['DisasterProtection status.activeOperation.validationCleanup.observedTime', 'observedAt'],
  ['DisasterProtection status.activationResult.targetEnvironmentId', 'targetAppEnvId'],
  ['DisasterProtection status.activationResult.completedTime', 'completedAt'],
  ['DisasterProtection status.validationSchedule.established', 'validationScheduleEstablished'],
  ['DisasterProtection status.warmDestination.environmentName', 'envName'],
  ['RecoveryActivation spec.recoveryPoint.cutoffTime', 'cutoffAt'],
  ['RecoveryActivation spec.recoveryPoint.configurationGeneration', 'expectedGeneration'],
  ['RecoveryActivation spec.acknowledgements', 'writerSafetyAcknowledged'],
  ['RecoveryActivation spec.target.environmentName', 'envName'],
  ['ActivationDiscard spec.configurationGeneration', 'expectedGeneration'],
  ['ActivationDiscard spec.acknowledgements', 'discardAcknowledged'],
  ['DisasterReset spec.confirmation', 'confirmationName'],
  ['DisasterReset spec.environmentRef.externalId', 'sourceAppEnvId'],
  ['DisasterReset status.wipedConfigurationCount', 'configurations'],
  ['DisasterReset status.wipedDestinationCount', 'destinations'],
  ['HostingAccount spec.externalId', 'accountId'],
  ['ClusterHostingAccount spec.externalId', 'accountId'],
  ['HostedApp spec.externalId', 'appId'],
  ['ContactPoint spec.externalId', 'contactPointId'],
  ['MetricAlert spec.externalId', 'alertId'],
  ['SolutionInstallation spec.externalId', 'installationId'],
  ['MemberAccess spec.externalId', 'membershipId'],
  ['HostedApp status.environments[].externalId', 'appEnvId'],
  ['HostedApp status.environments[].state', 'status'],
  ['HostedApp status.createdTime', 'createdAt'],
  ['AppEnvironment spec.externalId', 'appEnvId'],
  ['AppEnvironment spec.cliEnvironmentName', 'cliEnvName'],
  ['AppEnvironment status.cliEnvironmentName', 'cliEnvName'],
  ['AppEnvironment status.state', 'status'],
  ['AppEnvironment status.resources.memoryMb', 'memory'],
  ['SolutionInstallation status.components[].environmentId', 'appEnvId'],
  ['ContactPoint spec.chatA', 'chat_webhook_a'],
  ['ContactPoint spec.chatB', 'chat_webhook_b'],
  ['ContactPoint spec.chatC', 'chat_webhook_c'],
  ['ContactPoint spec.incident', 'incident_service'],
  ['ContactPoint status.deployments[].uid', 'dashboardContactPointUid'],
  ['MetricAlert status.environmentId', 'appEnvId'],
  ['MetricAlert status.state', 'lastKnownState'],
  ['MemberAccess status.environmentIds', 'allowedAppEnvIds'],
  ...kinds.flatMap(({ kind, idWord }) =>
    idWord === undefined ? [] : [[`${kind} status.externalId`, idWord] as const],
  ),
];

describe('kubectl explain', () => {
  it.each(words)('of %s names the word of the interface: %s', (place, word) => {
    expect(texts.get(place)).toMatch(new RegExp(`(?:interface|API (?:field|type|value)): [^)]*\\b${word}\\b`, 'u'));
  });
});
