/**
 * Translates the service's terms for users: field names of its API to paths in the spec, and its codes to explanations.
 */

/** Maps field names of the service's API to paths in the spec. */
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

/**
 * Returns the paths in the spec for the field names of the service's API. All disaster-readiness kinds use these same
 * paths.
 */
export function recoveryWords(): Readonly<Record<string, string>> {
  return fields;
}

/**
 * Explains the service's codes. They say why an environment cannot be protected, or why a protection needs attention.
 */
const codes: Readonly<Record<string, string>> = {
  presetUnsupported: 'disaster readiness does not support the preset of the app',
  noPersistentVolume:
    'the environment has no persistent volume; a database gets a volume with spec.atCreation.database.withPersistence of its HostedApp',
  regionUnsupported: 'the region of the environment does not support disaster readiness',
  noEligibleDestination: 'the service offers no eligible region for spec.destinationRegion',
  chainRollover: 'a new chain of snapshots has not replaced the old one yet',
  catchingUp: 'the standby has not applied all changes yet',
  rpoExceeded: 'the newest recovery point is older than spec.rpoTargetSeconds',
  enrollmentFailed: 'the protection could not be set up',
  validationFailed: 'the latest validation failed',
  seedBoost: 'the standby runs at a larger size until it has applied its first copy, which is large',
  sustainedStandby: 'instead of the smaller standard size, the standby runs at its full size',
  standardTooSlow: 'a standby of the standard size applied changes too slowly for spec.snapshotIntervalSeconds',
};

/** Explains a code of the service in words; puts a code that is not known in quotation marks. */
export function codeInWords(code: string): string {
  const words = Object.hasOwn(codes, code) ? codes[code] : undefined;
  return words === undefined ? `"${code}"` : `${words} (${code})`;
}

/** Translates a sentence of the service: field names become paths of the spec, and codes become explanations. */
export function inSpecWords(sentence: string): string {
  const names = [...Object.keys(fields), ...Object.keys(codes)].map((wire) => wire.replaceAll('.', String.raw`\.`));
  const pattern = new RegExp(String.raw`(?<![\w.])(?:items\[\d+\]\.)?(${names.join('|')})(?!\w)`, 'gu');
  return sentence.replaceAll(pattern, (_all, wire: string) =>
    fields[wire] === undefined ? codeInWords(wire) : `spec.${fields[wire]}`,
  );
}
