module github.com/toolscout/toolscout/clients/go

go 1.22
