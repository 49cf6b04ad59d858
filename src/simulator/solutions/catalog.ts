/** One part of a solution, created as a normal app with one environment. */
export interface Component {
  readonly name: string;
  readonly dockerPreset: string;
  readonly port: number;
  readonly dependsOn: readonly string[];
  /** The image it runs; managed services have their own. */
  readonly image?: string;
}

/** An entry of the catalog. */
export interface Solution {
  readonly solutionSlug: string;
  readonly label: string;
  readonly requiredInputs: readonly string[];
  /** The repository of the solution's own image, where inputs may choose one. */
  readonly agentImage?: string;
  readonly components: readonly Component[];
  readonly postInstallNote?: string;
}

/** The repository that agent images come from. */
export const agentRepository = 'svc/sandbox-agent';

/** The catalog. */
export const catalog: readonly Solution[] = [
  {
    solutionSlug: 'sandbox-agent',
    label: 'Sandbox agent',
    requiredInputs: ['llmProviderKeyId', 'agentPrimaryModel', 'agentSecondaryModel'],
    agentImage: agentRepository,
    components: [
      { name: 'control', dockerPreset: 'CUSTOM', port: 8080, dependsOn: [] },
      { name: 'gateway', dockerPreset: 'CUSTOM', port: 8443, dependsOn: ['control'], image: 'svc/sandbox-gateway:1' },
    ],
    postInstallNote: 'Connect the agent to your repository before you treat all components as connected.',
  },
  {
    solutionSlug: 'queue-worker',
    label: 'Queue and worker',
    requiredInputs: [],
    components: [
      { name: 'queue', dockerPreset: 'RABBITMQ', port: 5672, dependsOn: [] },
      { name: 'worker', dockerPreset: 'CUSTOM', port: 8080, dependsOn: ['queue'], image: 'svc/queue-worker:1' },
      { name: 'api', dockerPreset: 'EXPRESS', port: 3000, dependsOn: ['queue', 'worker'], image: 'svc/queue-api:1' },
    ],
  },
];
