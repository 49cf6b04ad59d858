/**
 * Stalls a protection before a configure call if the service would refuse the settings. The service's list of sources
 * (environments that can be protected) shows which settings are possible.
 */
import { readUnread } from '../../engine/kind/planner/observe.ts';
import { appEnvsOf, appsOf, drSourcesOf, type ConfigurationItem, type SourceItem } from '../../hosting/requests.ts';
import { codeInWords } from '../recovery/words.ts';
import { isDatabase, presetOfEnvironment } from '../shared/presets.ts';
import { environmentOf, type ProtectionPass, type ProtectionStep } from './binding.ts';
import { isSameRegionAccepted } from './settings.ts';

/**
 * Returns a `stall` step if the lists of the service show that it would refuse the settings; the message has all
 * reasons. If a list that this check needs was never read, returns a step that reads the list. Returns undefined if the
 * lists show no reason.
 */
export function refusedBySource(pass: ProtectionPass, configuration?: ConfigurationItem): ProtectionStep | undefined {
  const { accountId } = pass.account;
  const appEnvId = environmentOf(pass);
  const source = pass.view.one(drSourcesOf(accountId), appEnvId)?.item;
  if (source === undefined) return undefined;
  const mayLack = lacksNames(pass, configuration);
  const unread = mayLack ? readUnread(pass, [appEnvsOf(accountId), appsOf(accountId)]) : undefined;
  if (unread !== undefined) return unread;
  const reasons = configuration === undefined ? unsupported(source) : [];
  const whys = [
    reasons.length === 0 ? undefined : `the service cannot protect environment ${appEnvId}: ${reasons.join('; ')}`,
    destination(pass, source, configuration),
    mayLack ? lackingNames(pass, appEnvId) : undefined,
  ].filter((why) => why !== undefined);
  return whys.length === 0
    ? undefined
    : { is: 'stall', reason: 'NotEligible', message: `${whys.join('; ')}; nothing is sent` };
}

/** Lists every reason why the service cannot protect the environment or one of its volumes. */
function unsupported({ eligible, unsupportedReasons, volumes }: SourceItem): readonly string[] {
  if (eligible !== false) return [];
  const ofVolumes = volumes.filter((volume) => volume.eligible === false);
  const all = [
    ...unsupportedReasons.map(codeInWords),
    ...ofVolumes.map(
      ({ name, reason }) => `volume ${name}: ${reason === undefined ? 'not eligible' : codeInWords(reason)}`,
    ),
  ];
  return all.length === 0 ? ['the service gives no reason'] : all;
}

/**
 * True if the spec lacks names that the recovery of a database needs. A change of an existing protection may leave out
 * spec.target, because the service keeps the names that it has saved.
 */
function lacksNames({ spec }: ProtectionPass, configuration: ConfigurationItem | undefined): boolean {
  return spec.target === undefined ? configuration === undefined : spec.target.appName === undefined;
}

/**
 * Returns a message that asks for the names of the recovered environment and its app if the environment runs a
 * database; otherwise undefined. A database needs these names because it is always recovered into a new app.
 */
function lackingNames(pass: ProtectionPass, appEnvId: string): string | undefined {
  const preset = presetOfEnvironment(pass, appEnvId);
  if (preset === undefined || !isDatabase(pass, preset)) return undefined;
  return `environment ${appEnvId} runs ${preset}, and a database is always recovered into a new app: set spec.target.environmentName and spec.target.appName`;
}

/**
 * Returns a message if spec.destinationRegion cannot be used: the region is not eligible, or it is the region of the
 * source and the spec does not accept that. Otherwise returns undefined.
 */
function destination(
  { spec }: ProtectionPass,
  source: SourceItem,
  configuration?: ConfigurationItem,
): string | undefined {
  const { destinationRegion } = spec;
  const { region, eligibleDestinations } = source;
  const { settings } = configuration ?? {};
  if (destinationRegion === undefined || destinationRegion === settings?.destinationRegion) return undefined;
  const others = eligibleDestinations.filter((name) => name !== region);
  const instead = others.length === 0 ? '' : `, or set spec.destinationRegion to ${others.join(' or ')}`;
  if (eligibleDestinations.length > 0 && !eligibleDestinations.includes(destinationRegion))
    return `spec.destinationRegion ${destinationRegion} is not eligible; the eligible regions are ${eligibleDestinations.join(', ')}`;
  if (destinationRegion !== region || isSameRegionAccepted(spec) || settings?.sameRegionAcknowledged === true) {
    return undefined;
  }
  return `spec.destinationRegion ${destinationRegion} is also the source's region: to accept this, add SameRegion to spec.acknowledgements${instead}`;
}
