/** Translates the service's field names in refusals to the paths of the spec. */

/** The fields of the interface, and where they stand in a spec. */
const fields: Readonly<Record<string, string>> = {
  'target.envName': 'target.environmentName',
  'target.appName': 'target.appName',
  'target.createNewApp': 'target.createNewApp',
  sameRegionAcknowledged: 'acknowledgements (SameRegion)',
  writerSafetyAcknowledged: 'acknowledgements (WriterSafety)',
  discardAcknowledged: 'acknowledgements (DiscardsRecoveredData)',
  confirmationName: 'confirmation',
  storageCredentialId: 'storage.credentialId',
  snapshotIntervalMs: 'snapshotIntervalSeconds',
  validationIntervalMs: 'validationIntervalSeconds',
  rpoTargetMs: 'rpoTargetSeconds',
  rtoTargetMs: 'rtoTargetSeconds',
  destinationRegion: 'destinationRegion',
  sourceAppEnvId: 'environmentRef',
  envName: 'target.environmentName',
};

/** The same for every kind of disaster readiness. */
export function interfaceWords(): Readonly<Record<string, string>> {
  return fields;
}

/** A sentence of the service with the paths of the spec in the place of the fields of the interface. */
export function inSpecWords(sentence: string): string {
  const names = Object.keys(fields).map((wire) => wire.replaceAll('.', String.raw`\.`));
  const pattern = new RegExp(String.raw`(?<![\w.])(?:items\[\d+\]\.)?(${names.join('|')})(?!\w)`, 'gu');
  return sentence.replaceAll(pattern, (_all, wire: string) => `spec.${fields[wire]}`);
}
