package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

// The kinds of others that we install or show, as their own programs read them.
var foreignKinds = map[string]func() any{
	"kustomize.toolkit.fluxcd.io/v1 Kustomization":    func() any { return &kustomizev1.Kustomization{} },
	"source.toolkit.fluxcd.io/v1 GitRepository":       func() any { return &sourcev1.GitRepository{} },
	"notification.toolkit.fluxcd.io/v1beta3 Alert":    func() any { return &notificationv1beta3.Alert{} },
	"notification.toolkit.fluxcd.io/v1beta3 Provider": func() any { return &notificationv1beta3.Provider{} },
	"monitoring.coreos.com/v1 PrometheusRule":         func() any { return &monitoringv1.PrometheusRule{} },
	"monitoring.coreos.com/v1 ServiceMonitor":         func() any { return &monitoringv1.ServiceMonitor{} },
}

// foreign reads manifests from its input and decodes those of other projects' kinds into the types of these projects, which must
// know every field; of Kubernetes's own kinds and of ours it says nothing.
func foreign([]string) {
	documents := yaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	decoded, wrong := 0, 0
	for {
		text, err := documents.Read()
		if err == io.EOF {
			break
		}
		check(err)
		var about struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		}
		check(sigsyaml.Unmarshal(text, &about))
		empty, known := foreignKinds[about.APIVersion+" "+about.Kind]
		if !known {
			if strings.Contains(about.APIVersion, ".fluxcd.io/") || strings.HasPrefix(about.APIVersion, "monitoring.coreos.com/") {
				wrong++
				fmt.Printf("%s %s: there is no such kind\n", about.APIVersion, about.Kind)
			}
			continue
		}
		decoded++
		if err := sigsyaml.UnmarshalStrict(bytes.TrimSpace(text), empty()); err != nil {
			wrong++
			fmt.Printf("%s: %v\n", about.Kind, err)
		}
	}
	fmt.Printf("%d decoded, %d wrong\n", decoded, wrong)
	if wrong > 0 || decoded == 0 {
		os.Exit(1)
	}
}
