/** Translates the service's field names in refusals to the paths of the spec. */

/** The fields of the interface, longer ones first, and where they stand in a spec. */
const fields: readonly (readonly [wire: string, spec: string])[] = [
  ['target.envName', 'spec.target.environmentName'],
  ['target.appName', 'spec.target.appName'],
  ['target.createNewApp', 'spec.target.createNewApp'],
  ['sameRegionAcknowledged', 'spec.acknowledgements (SameRegion)'],
  ['writerSafetyAcknowledged', 'spec.acknowledgements (WriterSafety)'],
  ['discardAcknowledged', 'spec.acknowledgements (DiscardsRecoveredData)'],
  ['confirmationName', 'spec.confirmation'],
  ['storageCredentialId', 'spec.storage.credentialId'],
  ['snapshotIntervalMs', 'spec.snapshotIntervalSeconds'],
  ['validationIntervalMs', 'spec.validationIntervalSeconds'],
  ['rpoTargetMs', 'spec.rpoTargetSeconds'],
  ['rtoTargetMs', 'spec.rtoTargetSeconds'],
  ['destinationRegion', 'spec.destinationRegion'],
  ['sourceAppEnvId', 'the environment'],
  ['envName', 'spec.target.environmentName'],
];

/** A sentence of the service with the paths of the spec in the place of the fields of the interface. */
export function inSpecWords(sentence: string): string {
  const names = fields.map(([wire]) => wire.replaceAll('.', String.raw`\.`)).join('|');
  const pattern = new RegExp(String.raw`(?<![\w.])(?:items\[\d+\]\.)?(${names})(?!\w)`, 'gu');
  return sentence.replaceAll(pattern, (_all, wire: string) => fields.find(([name]) => name === wire)?.[1] ?? wire);
}
