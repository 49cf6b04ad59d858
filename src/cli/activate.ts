import { stringify } from 'yaml';
import { z } from 'zod';
import { definedIn } from '../base/json.ts';
import { isoSeconds } from '../base/time.ts';
import { text, Trouble, whole, type CommandLine, type Flags, type Settings } from '../config.ts';
import { command, type CommandAnswer } from './frame.ts';
import { group, version } from '../engine/kind/contract/define.ts';
import { isActivation, sameMoment } from '../kinds/recovery/configurations.ts';
import { ageInTwoUnits, yamlOptions } from './output.ts';
import { cautionsOn, protectionCommand, readProtection, type Point, type ProtectionView } from './protection.ts';

const badPoint = 'must be latest, or the first characters of the id of a recovery point';

/** Describes the command `apphosting activate`: its name, flags and notes. */
export const activateCommand = {
  name: 'activate NAME',
  summary:
    'Prints the manifest of a RecoveryActivation for one recovery point of the DisasterProtection NAME, valid for a limited time.\nThe command applies nothing: read the manifest, fill in its placeholders, and create it yourself.',
  operand: 'needed',
  flags: {
    ...protectionCommand.flags,
    point: {
      help: 'the recovery point: latest, or the first characters of its id',
      value: 'latest|ID',
      schema: z.string(badPoint).min(1, badPoint),
    },
    confirm: {
      help: 'the source environment (the protected one), as APP/ENVIRONMENT; without this flag, the manifest has a placeholder',
      value: 'APP/ENVIRONMENT',
      schema: z
        .string()
        .regex(/^.+\/.+$/, 'must look like APP/ENVIRONMENT')
        .optional(),
    },
    environmentName: text(
      'the name of the recovered environment; by default the name stored in the protection',
      'NAME',
    ),
    appName: text('the name of the new app; by default the name stored in the protection', 'NAME'),
    acknowledgeWriters: {
      help: 'accept that the source environment may go on writing data, if the service cannot stop that environment',
    },
    validMinutes: whole('the number of minutes for which the manifest is valid', 'N', '60', [1, 1_440]),
  },
  notes: [
    ...protectionCommand.notes,
    'Exit codes: 0 the manifest was printed, even if the service gave no list of recovery points, 1 no manifest was printed, 64 wrong usage.',
  ],
} satisfies CommandLine<Flags>;

/** `apphosting activate NAME --point latest`: prints the manifest of a RecoveryActivation, and applies nothing. */
export const activate = command(activateCommand, async (called) =>
  manifestOf(await readProtection(called), called.settings, called.time.nowMs()),
);

type Choices = Settings<(typeof activateCommand)['flags']>;

/**
 * The options of `apphosting activate` that choose a recovery
 * point, and the names of the app and environment to recover into.
 */
type PointChoice = Pick<Choices, 'point' | 'validMinutes'> & Partial<Choices>;

/** Builds the manifest that activates one recovery point. */
export function manifestOf(protection: ProtectionView, choice: PointChoice, nowMs: number): CommandAnswer {
  const point = pointOf(protection, choice.point);
  const target = targetOf(protection, choice);
  const attempt = earlierTries(protection, point) + 1;
  const { appName, environmentName } = protection.facts.source ?? {};
  const known = appName === undefined || environmentName === undefined ? undefined : `${appName}/${environmentName}`;
  if (choice.confirm !== undefined && known !== undefined && choice.confirm !== known)
    throw new Trouble(`--confirm ${choice.confirm} does not name the environment of this protection`);
  const stamp = new Date(nowMs).toISOString().replaceAll(/[-:]/g, '').slice(0, 15).toLowerCase();
  const { configurationId } = protection;
  const manifest = {
    apiVersion: `${group}/${version}`,
    kind: 'RecoveryActivation',
    metadata: { name: `${protection.name.slice(0, 200)}-${stamp}`, namespace: protection.namespace },
    spec: {
      ...(protection.spec.accountRef !== undefined && { accountRef: protection.spec.accountRef }),
      protectionRef: { name: protection.name },
      configurationId,
      recoveryPoint: {
        selectedOperationId: point.selectedOperationId,
        pointId: point.pointId,
        cutoffTime: point.cutoffTime,
        configurationGeneration: point.configurationGeneration,
      },
      target,
      ...(choice.acknowledgeWriters === true && { acknowledgements: ['WriterSafety'] }),
      confirmation: choice.confirm ?? 'FILL-IN/FILL-IN',
      validUntil: isoSeconds(nowMs + choice.validMinutes * 60_000),
      ...(isAnother(protection) && { afterOperationId: 'FILL-IN' }),
      ...(attempt > 1 && { attempt }),
    },
  };
  return { text: [notesOn(protection, point, choice, nowMs), stringify(manifest, yamlOptions)].join('') };
}

/** Finds the recovery point that the flag `--point` selects. */
function pointOf({ facts, stale }: ProtectionView, asked: string): Point {
  const { recoveryPoints = [] } = facts;
  const [newest] = recoveryPoints;
  if (newest === undefined) throw new Trouble(`no recovery point is known: ${stale?.why ?? 'the service lists none'}`);
  if (asked === 'latest') return newest;
  const [found, ...others] = recoveryPoints.filter(({ pointId }) => pointId.startsWith(asked));
  if (found === undefined)
    throw new Trouble(`no recovery point has an id that begins with ${asked}; \`apphosting points\` lists them`);
  if (others.length > 0)
    throw new Trouble(`the ids of ${others.length + 1} recovery points begin with ${asked}; give more of the id`);
  return found;
}

/**
 * Chooses the names of the recovered environment and its app. Names from flags come first, then those in the status or
 * spec of the protection. Fails if the environment has no name, or if flags rename a warm standby.
 */
function targetOf({ facts, spec }: ProtectionView, choice: PointChoice): object {
  const { warmDestination } = facts;
  const saved = warmDestination ?? facts.plannedDestination ?? spec.target;
  const environmentName = choice.environmentName ?? saved?.environmentName;
  const appName = choice.appName ?? saved?.appName;
  if (environmentName === undefined)
    throw new Trouble('the protection stores no name; give --environment-name, and --app-name for a new app');
  if (
    warmDestination !== undefined &&
    (environmentName !== warmDestination.environmentName || appName !== warmDestination.appName)
  ) {
    throw new Trouble('a warm standby keeps its names; leave out --environment-name and --app-name');
  }
  const isNew = warmDestination === undefined && choice.appName !== undefined;
  // If there is an app name but it is unknown whether the app is new, leave the field createNewApp out. The value false
  // would be wrong if the standby is in a new app.
  const createNewApp = isNew ? true : (saved?.createNewApp ?? (appName === undefined ? false : undefined));
  return definedIn({ environmentName, appName, createNewApp });
}

/**
 * True if this protection was activated before. In that case, the manifest of a new activation must set
 * `afterOperationId`.
 */
function isAnother({ facts, obstacle }: ProtectionView): boolean {
  return facts.activationResult !== undefined || obstacle?.reason === 'AlreadyActivated';
}

/**
 * Counts the earlier activations of a recovery point, and those whose recovery point is unknown. A new activation needs
 * a new `attempt`, because the service answers an equal request with the earlier operation.
 */
function earlierTries({ facts: { operations = [] } }: ProtectionView, { cutoffTime }: Point): number {
  const isOfPoint = (shown: string | undefined) => shown === undefined || sameMoment(shown, cutoffTime);
  return operations.filter(({ kind, cutoffTime: cutoffAt }) => isActivation({ kind, cutoffAt }) && isOfPoint(cutoffAt))
    .length;
}

/** Writes the YAML comments above the manifest: what a person must know and confirm. */
function notesOn(protection: ProtectionView, point: Point, choice: PointChoice, nowMs: number): string {
  const { confirm, acknowledgeWriters, validMinutes } = choice;
  const when = (isSo: boolean, ...lines: readonly string[]) => (isSo ? lines : []);
  const lines = [
    `Recovers the data up to ${point.cutoffTime}, ${ageInTwoUnits(point.cutoffTime, nowMs)} ago; the recovered environment has no newer data.`,
    `This manifest is valid for ${validMinutes} minutes and has not been applied yet: review it, then create it with kubectl create -f.`,
    'The activation may cost money. It does not switch DNS, and it does not reconnect clients.',
    ...when(
      protection.stale !== undefined,
      `The service gave no list of recovery points (${protection.stale?.why}): this point is from the status of the protection, and may be gone by now.`,
    ),
    ...cautionsOn(protection, nowMs),
    ...when(
      confirm === undefined,
      'Fill in spec.confirmation: the source environment (the protected one), as APP/ENVIRONMENT.',
    ),
    ...(acknowledgeWriters === true
      ? [
          'This manifest accepts a risk: if the service cannot stop the source environment, both environments may write data.',
        ]
      : [
          'If the service cannot stop the source environment, it refuses the activation. If you accept the risk that both environments write data, add to spec:',
          '  acknowledgements: [WriterSafety]',
        ]),
    ...when(
      isAnother(protection),
      'This protection was activated before: set spec.afterOperationId to the operation id of the latest activation, even if that activation was discarded, and choose other names in spec.target.',
    ),
  ];
  return lines.map((line) => `# ${line}\n`).join('');
}
