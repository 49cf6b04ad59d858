// The environments that can be protected, and the regions they can be protected into.
import type { RetainedSource } from './model.ts';

/** An environment as a source of protection. */
export interface SourceFacts {
  readonly appEnvId: string;
  readonly source: RetainedSource;
  readonly volumes: number;
}

/** A region as far as disaster readiness is concerned. */
export interface RegionFacts {
  readonly name: string;
  readonly up: boolean;
  readonly supportsDisasterReadiness: boolean;
}

const WITHOUT_VOLUMES: readonly string[] = ['FUNCTION', 'JOB'];

/** The reasons why an environment cannot be protected; none when it can. */
export function unsupportedReasons(facts: SourceFacts, regions: readonly RegionFacts[]): readonly string[] {
  const reasons: string[] = [];
  if (WITHOUT_VOLUMES.includes(facts.source.dockerPreset)) reasons.push('presetUnsupported');
  if (facts.volumes === 0) reasons.push('noPersistentVolume');
  if (!supports(regions, facts.source.region)) reasons.push('regionUnsupported');
  if (eligibleDestinations(facts, regions).length === 0) reasons.push('noEligibleDestination');
  return reasons;
}

/** The regions a source can be protected into: other regions first, its own last as it needs an acknowledgment. */
export function eligibleDestinations({ source }: SourceFacts, regions: readonly RegionFacts[]): readonly string[] {
  const names = regions.filter((region) => region.supportsDisasterReadiness).map(({ name }) => name);
  return [...names.filter((name) => name !== source.region), ...names.filter((name) => name === source.region)];
}

/** Tells if a region takes part in disaster readiness. */
export function supports(regions: readonly RegionFacts[], name: string): boolean {
  return regions.some((region) => region.name === name && region.supportsDisasterReadiness);
}
